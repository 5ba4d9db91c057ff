CREATE DATABASE shop
GO
USE shop
GO
CREATE SCHEMA sales
GO
CREATE TYPE dbo.phone FROM varchar(20) NOT NULL
GO
CREATE TYPE dbo.ids AS TABLE (id int NOT NULL PRIMARY KEY, b int NULL, c int NOT NULL, INDEX ix_b NONCLUSTERED (b DESC), UNIQUE (c))
GO
CREATE SEQUENCE sales.numbers AS bigint START WITH 5 INCREMENT BY 2
GO
CREATE FUNCTION dbo.twice(@a int) RETURNS int AS BEGIN RETURN @a * 2 END
GO
CREATE TABLE sales.customers (id int IDENTITY(10,5) CONSTRAINT pk_c PRIMARY KEY, name nvarchar(50) NOT NULL, phone dbo.phone, doubled AS (id*2) PERSISTED, version rowversion, born date NULL, CONSTRAINT uq_c UNIQUE (name))
CREATE TABLE sales.orders (id int NOT NULL CONSTRAINT pk_o PRIMARY KEY, customer int NULL CONSTRAINT fk_o REFERENCES sales.customers(id) ON DELETE CASCADE, amount decimal(10,2) CONSTRAINT df_o DEFAULT (0) CONSTRAINT ck_o CHECK (amount>=0), note varchar(max), f float, d datetime2, g uniqueidentifier, x xml, v sql_variant, t text, i image, o datetimeoffset, m money, tm time)
CREATE INDEX ix_o ON sales.orders (customer) INCLUDE (amount) WHERE amount > 5
CREATE TABLE dbo.empty_one (a int IDENTITY)
GO
INSERT sales.customers (name, phone, born) VALUES (N'Ana', '1', '2000-01-01'), (N'Bö,b', '2', NULL)
DELETE sales.customers WHERE id = 99
INSERT sales.orders SELECT value, CASE value % 3 WHEN 0 THEN NULL ELSE 10 END, value, CASE WHEN value % 5 = 0 THEN NULL ELSE REPLICATE('n', value % 50) END, value / 7.0, DATEADD(second, value, '2020-01-01'), NEWID(), '<a>1</a>', CAST(value AS int), 'text', 0x0102, '2020-01-01 01:02:03.1234567 +02:00', value * 1.5, '01:02:03.1234567' FROM GENERATE_SERIES(1, 5000)
DECLARE @n bigint = NEXT VALUE FOR sales.numbers
GO
CREATE VIEW dbo.b AS SELECT id FROM sales.orders
GO
CREATE VIEW dbo.a AS SELECT id FROM dbo.b
GO
CREATE PROCEDURE dbo.p @ids dbo.ids READONLY AS SELECT * FROM dbo.a WHERE id IN (SELECT id FROM @ids)
GO
CREATE TRIGGER sales.tr ON sales.orders AFTER INSERT AS PRINT 'x'
GO
DISABLE TRIGGER sales.tr ON sales.orders
CREATE SYNONYM dbo.s FOR sales.orders
EXEC sp_addextendedproperty @name=N'd', @value=N'text''s', @level0type=N'SCHEMA', @level0name=N'sales', @level1type=N'TABLE', @level1name=N'orders', @level2type=N'COLUMN', @level2name=N'id'
GO
