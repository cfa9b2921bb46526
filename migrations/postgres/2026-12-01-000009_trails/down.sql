CREATE INDEX receipts_by_principal ON receipts (tenant, principal, log_index);
ALTER TABLE receipts ADD CONSTRAINT receipts_tenant_chain_seq_key UNIQUE (tenant, chain, seq);
ALTER TABLE heads DROP COLUMN trailed;
DROP TABLE trails;
