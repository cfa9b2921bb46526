DROP TABLE reply_counts;
DROP TABLE reply_rules;
