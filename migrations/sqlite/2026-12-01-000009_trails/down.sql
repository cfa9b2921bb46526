CREATE INDEX receipts_by_principal ON receipts (tenant, principal, log_index);
CREATE UNIQUE INDEX receipts_by_chain ON receipts (tenant, chain, seq);
ALTER TABLE heads DROP COLUMN trailed;
DROP TABLE trails;
