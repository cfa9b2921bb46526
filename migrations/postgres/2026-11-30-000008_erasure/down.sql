DROP TABLE retention;
DROP INDEX receipts_kept;
ALTER TABLE receipts DROP COLUMN erased_by;
