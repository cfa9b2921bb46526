DROP INDEX outbox_sent;
DROP TABLE rounds;
DROP TABLE cosignatures;
DROP TABLE witnessed_checkpoints;
