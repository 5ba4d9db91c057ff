ALTER TABLE migrate_customers DROP CONSTRAINT df_migrate;
ALTER TABLE migrate_customers DROP COLUMN total;
