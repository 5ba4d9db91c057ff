USE shop
GO
CREATE SCHEMA [odd schema]
GO
CREATE TYPE sales.amount FROM decimal(19, 4) NULL
GO
CREATE TYPE [odd schema].[a list] AS TABLE ([its key] int NOT NULL, price sales.amount, why nvarchar(20) NOT NULL DEFAULT (N'none'), CHECK (price > 0), PRIMARY KEY NONCLUSTERED ([its key] DESC))
GO
CREATE SEQUENCE dbo.countdown AS decimal(18, 0) START WITH 100 INCREMENT BY -5 MINVALUE -100 MAXVALUE 100 CYCLE NO CACHE
CREATE SEQUENCE dbo.unused AS tinyint START WITH 7 MINVALUE 1 MAXVALUE 9 CACHE 3
GO
CREATE FUNCTION dbo.half(@a decimal(19, 4)) RETURNS decimal(19, 4) AS BEGIN RETURN @a / 2 END
GO
-- Every type.
CREATE TABLE dbo.every_type (
    id bigint NOT NULL CONSTRAINT pk_every_type PRIMARY KEY NONCLUSTERED,
    b bit NULL, ti tinyint NULL, si smallint NULL, i int NULL, bi bigint NULL,
    d9 decimal(9, 3) NULL, d38 decimal(38, 10) NULL, n5 numeric(5, 5) NULL, mo money NULL, smo smallmoney NULL, r real NULL, f float NULL,
    da date NULL, t0 time(0) NULL, t7 time(7) NULL, sdt smalldatetime NULL, dt datetime NULL, dt0 datetime2(0) NULL, dt3 datetime2(3) NULL, dt7 datetime2(7) NULL, dto datetimeoffset(3) NULL,
    c char(10) NULL, vc varchar(200) COLLATE Latin1_General_BIN2 NULL, vcm varchar(max) NULL, nc nchar(5) NULL, nv nvarchar(200) NULL, nvm nvarchar(max) NULL, tx text NULL, ntx ntext NULL, sn sysname NOT NULL,
    bin binary(6) NULL, vb varbinary(300) NULL, vbm varbinary(max) NULL, im image NULL,
    u uniqueidentifier ROWGUIDCOL NOT NULL CONSTRAINT df_u DEFAULT (NEWID()), x xml NULL, v sql_variant NULL, amount sales.amount, phone dbo.phone NULL, rv rowversion, h hierarchyid NULL)
CREATE CLUSTERED INDEX cl_every_type ON dbo.every_type (dt7 DESC, id)
CREATE UNIQUE INDEX uq_u ON dbo.every_type (u) WITH (IGNORE_DUP_KEY = ON, FILLFACTOR = 80, PAD_INDEX = ON)
CREATE INDEX ix_wide ON dbo.every_type (vc, nv) INCLUDE (nvm, vbm, x)
CREATE INDEX ix_off ON dbo.every_type (i)
ALTER INDEX ix_off ON dbo.every_type DISABLE
GO
-- A heap, names that need brackets, computed columns with and without values of their own, an index over one of them.
CREATE TABLE [odd schema].[a ]]heap, "so" it's] ([a column] int NULL, [select] AS ([a column] * 2), [kept] AS (dbo.half([a column])), [stored] AS ([a column] % 7) PERSISTED, tail char(20) NOT NULL CONSTRAINT [df 'tail'] DEFAULT ('it''s'))
CREATE INDEX [an index] ON [odd schema].[a ]]heap, "so" it's] ([stored], [a column] DESC)
GO
-- Foreign keys: to itself, in a circle, to a UNIQUE, of two columns, with every action, not trusted, off.
CREATE TABLE dbo.tree (id int NOT NULL CONSTRAINT pk_tree PRIMARY KEY, parent int NULL CONSTRAINT fk_tree REFERENCES dbo.tree (id), name nvarchar(30) NOT NULL CONSTRAINT uq_tree UNIQUE)
CREATE TABLE dbo.ring_a (id int NOT NULL CONSTRAINT pk_ring_a PRIMARY KEY, b int NULL)
CREATE TABLE dbo.ring_b (id int NOT NULL CONSTRAINT pk_ring_b PRIMARY KEY, a int NULL CONSTRAINT fk_ring_b REFERENCES dbo.ring_a (id) ON DELETE SET NULL)
ALTER TABLE dbo.ring_a ADD CONSTRAINT fk_ring_a FOREIGN KEY (b) REFERENCES dbo.ring_b (id)
CREATE TABLE dbo.pairs (a int NOT NULL, b int NOT NULL, CONSTRAINT pk_pairs PRIMARY KEY (b DESC, a))
CREATE TABLE dbo.of_pairs (id int IDENTITY(-1, -1) NOT NULL, a int NULL CONSTRAINT df_a DEFAULT (1), b int NULL CONSTRAINT df_b DEFAULT (1), name nvarchar(30) NULL, CONSTRAINT fk_pairs FOREIGN KEY (b, a) REFERENCES dbo.pairs (b, a) ON UPDATE CASCADE ON DELETE SET DEFAULT,
    CONSTRAINT fk_name FOREIGN KEY (name) REFERENCES dbo.tree (name))
ALTER TABLE dbo.of_pairs WITH NOCHECK ADD CONSTRAINT ck_not_trusted CHECK (a > 0)
ALTER TABLE dbo.of_pairs NOCHECK CONSTRAINT fk_name
ALTER TABLE dbo.of_pairs ADD CONSTRAINT ck_off CHECK (b < 100)
ALTER TABLE dbo.of_pairs NOCHECK CONSTRAINT ck_off
GO
-- Identities that go on: of decimal, down, reseeded, of a table whose rows are gone.
CREATE TABLE dbo.numbered (id decimal(12, 0) IDENTITY(1000000000, 10) NOT NULL CONSTRAINT pk_numbered PRIMARY KEY, at datetime2 NOT NULL CONSTRAINT df_at DEFAULT (SYSUTCDATETIME()), from_sequence decimal(18, 0) NOT NULL CONSTRAINT df_sequence DEFAULT (NEXT VALUE FOR dbo.countdown))
CREATE TABLE dbo.emptied (id smallint IDENTITY(5, 5) NOT NULL, a int NULL)
GO
INSERT dbo.every_type (id, sn, u) VALUES (0, N'nothing', '00000000-0000-0000-0000-000000000000')
INSERT dbo.every_type (id, b, ti, si, i, bi, d9, d38, n5, mo, smo, r, f, da, t0, t7, sdt, dt, dt0, dt3, dt7, dto, c, vc, vcm, nc, nv, nvm, tx, ntx, sn, bin, vb, vbm, im, u, x, v, amount, phone, h) VALUES
    (-1, 0, 0, -32768, -2147483648, -9223372036854775808, -999999.999, -9999999999999999999999999999.9999999999, -0.99999, -922337203685477.5808, -214748.3648, -3.4E38, -1.7E308, '0001-01-01', '00:00:00', '00:00:00', '1900-01-01', '1753-01-01', '0001-01-01', '0001-01-01', '0001-01-01', '0001-01-01 00:00:00 +00:00', '', '', '', N'', N'', N'', '', N'', N'least', 0x00, 0x, 0x, 0x, '00000000-0000-0000-0000-000000000001', N'', CONVERT(bigint, -1), -922337203685477.5808, '', '/'),
    (1, 1, 255, 32767, 2147483647, 9223372036854775807, 999999.999, 9999999999999999999999999999.9999999999, 0.99999, 922337203685477.5807, 214748.3647, 3.4E38, 1.7E308, '9999-12-31', '23:59:59', '23:59:59.9999999', '2079-06-06T23:59:00', '9999-12-31T23:59:59.997', '9999-12-31T23:59:59', '9999-12-31T23:59:59.999', '9999-12-31T23:59:59.9999999', '9999-12-31 23:59:59.999 +00:00', 'ten chars.', REPLICATE('z', 200), REPLICATE(CONVERT(varchar(max), 'long '), 20000), N'éüñ雪!', N'a, "quoted" one' + NCHAR(13) + NCHAR(10) + N'in two lines', REPLICATE(CONVERT(nvarchar(max), N'雪'), 30000), REPLICATE(CONVERT(varchar(max), 't'), 9000), REPLICATE(CONVERT(nvarchar(max), N'ñ'), 9000), N'most', 0xFFFFFFFFFFFF, CONVERT(varbinary(300), REPLICATE('b', 300)), CONVERT(varbinary(max), REPLICATE(CONVERT(varchar(max), 'bytes'), 20000)), CONVERT(varbinary(max), REPLICATE(CONVERT(varchar(max), 'i'), 9000)), 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF', N'<a b="1">text <c/> &amp;</a>', N'a variant', 922337203685477.5807, '555-0100', '/1/-5.3/1000000/')
INSERT [odd schema].[a ]]heap, "so" it's] ([a column]) SELECT value FROM GENERATE_SERIES(1, 1000)
INSERT dbo.tree VALUES (1, NULL, N'root'), (2, 1, N'branch'), (3, 2, N'leaf')
INSERT dbo.ring_a VALUES (1, NULL), (2, NULL)
INSERT dbo.ring_b VALUES (1, 2), (2, NULL)
UPDATE dbo.ring_a SET b = id
INSERT dbo.pairs VALUES (1, 1), (2, 1), (3, 4)
INSERT dbo.of_pairs (a, b, name) VALUES (1, 1, N'root'), (3, 4, N'nobody'), (NULL, NULL, NULL)
ALTER TABLE dbo.of_pairs NOCHECK CONSTRAINT ck_not_trusted
INSERT dbo.of_pairs (a, b) VALUES (NULL, 500)
ALTER TABLE dbo.of_pairs CHECK CONSTRAINT ck_not_trusted
INSERT dbo.numbered DEFAULT VALUES
INSERT dbo.numbered DEFAULT VALUES
DBCC CHECKIDENT ('dbo.numbered', RESEED, 2000000000) WITH NO_INFOMSGS
INSERT dbo.emptied (a) VALUES (1), (2), (3)
DELETE dbo.emptied
GO
-- Modules that need each other, of every kind.
CREATE FUNCTION dbo.children(@of int) RETURNS TABLE AS RETURN (SELECT id, name FROM dbo.tree WHERE parent = @of)
GO
CREATE FUNCTION dbo.ancestors(@of int) RETURNS @found TABLE (id int PRIMARY KEY, depth int NOT NULL) AS
BEGIN
    DECLARE @depth int = 0
    WHILE @of IS NOT NULL
    BEGIN
        INSERT @found VALUES (@of, @depth)
        SELECT @of = parent, @depth = @depth + 1 FROM dbo.tree WHERE id = @of
    END
    RETURN
END
GO
CREATE FUNCTION dbo.quarter(@a decimal(19, 4)) RETURNS decimal(19, 4) AS BEGIN RETURN dbo.half(dbo.half(@a)) END
GO
CREATE VIEW [odd schema].[its view] AS SELECT t.id, t.name, a.depth FROM dbo.tree AS t CROSS APPLY dbo.ancestors(t.id) AS a WHERE a.depth >= 0
GO
CREATE VIEW dbo.big_orders AS SELECT id, customer, amount FROM sales.orders WHERE amount > 100 WITH CHECK OPTION
GO
CREATE VIEW dbo.small_orders WITH SCHEMABINDING AS SELECT id, amount FROM sales.orders WHERE amount <= 100
GO
CREATE TRIGGER dbo.[instead of it] ON dbo.small_orders INSTEAD OF INSERT, DELETE AS PRINT 'instead'
GO
CREATE TRIGGER dbo.tr_tree ON dbo.tree AFTER INSERT, UPDATE, DELETE AS IF UPDATE(name) PRINT 'name'
GO
CREATE TRIGGER dbo.tr_tree_first ON dbo.tree AFTER INSERT AS PRINT 'first'
GO
SET QUOTED_IDENTIFIER OFF
GO
CREATE PROCEDURE dbo.[old style] @a int = 5, @b nvarchar(20) OUTPUT AS SELECT "a text in double quotes", @a; SET @b = N'x'
GO
SET QUOTED_IDENTIFIER ON
GO
CREATE PROCEDURE [odd schema].takes_list @list [odd schema].[a list] READONLY, @of int WITH RECOMPILE AS EXEC dbo.p_later SELECT * FROM @list AS l INNER JOIN dbo.children(@of) AS c ON c.id = l.[its key]
GO
CREATE PROCEDURE dbo.p_later AS SELECT dbo.quarter(8)
GO
CREATE SYNONYM [odd schema].[a synonym] FOR dbo.children
GO
EXEC sp_settriggerorder @triggername = N'dbo.tr_tree_first', @order = 'First', @stmttype = 'INSERT'
EXEC sp_settriggerorder @triggername = N'dbo.tr_tree', @order = 'Last', @stmttype = 'DELETE'
CREATE STATISTICS st_two ON dbo.pairs (b, a) WITH NORECOMPUTE
EXEC sp_addextendedproperty @name = N'of the database', @value = N'a word'
EXEC sp_addextendedproperty @name = N'of a schema', @value = 42, @level0type = N'SCHEMA', @level0name = N'odd schema'
EXEC sp_addextendedproperty @name = N'of a table', @value = N'with ''quotes''', @level0type = N'SCHEMA', @level0name = N'odd schema', @level1type = N'TABLE', @level1name = N'a ]heap, "so" it''s'
EXEC sp_addextendedproperty @name = N'of an index', @value = N'x', @level0type = N'SCHEMA', @level0name = N'dbo', @level1type = N'TABLE', @level1name = N'every_type', @level2type = N'INDEX', @level2name = N'ix_wide'
EXEC sp_addextendedproperty @name = N'of a constraint', @value = N'x', @level0type = N'SCHEMA', @level0name = N'dbo', @level1type = N'TABLE', @level1name = N'of_pairs', @level2type = N'CONSTRAINT', @level2name = N'ck_off'
EXEC sp_addextendedproperty @name = N'of a view', @value = N'x', @level0type = N'SCHEMA', @level0name = N'odd schema', @level1type = N'VIEW', @level1name = N'its view'
EXEC sp_addextendedproperty @name = N'of a procedure', @value = N'x', @level0type = N'SCHEMA', @level0name = N'dbo', @level1type = N'PROCEDURE', @level1name = N'old style'
GO
-- The second would refuse the first, and both would refuse whatever an export makes.
CREATE TRIGGER off_again ON DATABASE FOR CREATE_TABLE AS PRINT 'off'
GO
DISABLE TRIGGER off_again ON DATABASE
GO
CREATE TRIGGER [no more] ON DATABASE FOR DDL_DATABASE_LEVEL_EVENTS AS BEGIN PRINT 'The definitions of this database are frozen.'; ROLLBACK END
GO
EXEC sp_settriggerorder @triggername = N'[no more]', @order = 'First', @stmttype = 'DROP_TABLE', @namespace = 'DATABASE'
GO
