CREATE TABLE migrate_customers (id int IDENTITY PRIMARY KEY, name nvarchar(50) NOT NULL);
CREATE INDEX ix_migrate ON migrate_customers (name);
