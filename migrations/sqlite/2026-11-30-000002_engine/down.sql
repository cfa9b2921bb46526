ALTER TABLE effects DROP COLUMN enforcement_point;
DROP TABLE enforcement_points;
DROP TABLE decision_approvals;
DROP INDEX decisions_undecided;
DROP INDEX decisions_shared;
ALTER TABLE decisions DROP COLUMN approvals;
ALTER TABLE decisions DROP COLUMN asks;
DROP TABLE books;
