DROP TABLE lookups;
