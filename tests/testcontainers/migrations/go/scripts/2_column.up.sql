ALTER TABLE migrate_customers ADD total decimal(9, 2) NOT NULL CONSTRAINT df_migrate DEFAULT 0;
INSERT migrate_customers (name) VALUES (N'Bö');
