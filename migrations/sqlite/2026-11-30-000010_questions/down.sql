DROP TABLE fetched_answers;
DROP TABLE questions;
