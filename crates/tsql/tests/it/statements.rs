//! Everyday statements parse into the right tree; selected trees are checked node by node.
#![allow(clippy::unwrap_used)]

use tsql::ast::*;
use tsql::parser::{parse_batch, parse_batch_with, parse_condition, parse_expression, parse_parameters};

/// Each line is a batch of exactly one statement.
const SINGLE: &str = r#"
SELECT 1
select a, b c, d as e, f = g, 'h' = i, t.*, s.t.*, db..t.x from t
SELECT DISTINCT TOP (10) PERCENT WITH TIES a FROM dbo.t ORDER BY a DESC, 2
SELECT TOP 5 * FROM sys.objects
SELECT ALL TOP(@n) * FROM t WITH (NOLOCK, INDEX(ix, 2), FORCESEEK) WHERE a = 1 AND b <> 2 OR NOT c IS NULL
SELECT * FROM t (NOLOCK)
SELECT * FROM t AS x (NOLOCK) JOIN u y WITH (READPAST) ON x.a = y.a
SELECT * INTO #copy FROM t WHERE 1 = 0
SELECT @a = b, @c += d FROM t
SELECT * FROM a, b CROSS JOIN c LEFT OUTER JOIN d ON d.x = c.x RIGHT JOIN e ON 1 = 1 FULL OUTER JOIN f ON f.z > e.z
SELECT * FROM a JOIN b JOIN c ON b.x = c.x ON a.x = b.x
SELECT * FROM a INNER HASH JOIN b ON a.i = b.i LEFT LOOP JOIN c ON c.i = b.i OPTION (MAXDOP 1, RECOMPILE, HASH JOIN)
SELECT * FROM a CROSS APPLY dbo.f(a.x) AS g OUTER APPLY (SELECT TOP 1 * FROM b WHERE b.i = a.i) h
SELECT * FROM (SELECT a FROM t UNION ALL SELECT 2) AS d (x)
SELECT * FROM ((SELECT 1 AS a) UNION (SELECT 2)) d
SELECT * FROM ((SELECT 1 AS a) d JOIN (SELECT 1 AS a) e ON d.a = e.a)
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v (id, name)
SELECT * FROM (a JOIN b ON a.x = b.x) JOIN c ON c.x = a.x
SELECT * FROM sys.dm_db_log_info(DB_ID('vlf')) AS li
SELECT * FROM ::fn_dblog(NULL, NULL)
SELECT * FROM fn_dblog(NULL, NULL) WHERE [Transaction ID] IS NOT NULL
SELECT * FROM sys.dm_db_index_physical_stats(DB_ID(), NULL, NULL, NULL, 'LIMITED')
SELECT * FROM @t AS x WHERE x.a IN (1, 2, 3) AND x.b NOT IN (SELECT b FROM u)
SELECT a, COUNT(*), SUM(DISTINCT b), MAX(c) FROM t GROUP BY a HAVING COUNT(*) > 1
SELECT a, b, SUM(c) FROM t GROUP BY ROLLUP (a, (b, d)), CUBE(e), GROUPING SETS ((a), ())
SELECT a FROM t GROUP BY a, b WITH ROLLUP
SELECT a FROM t GROUP BY (a), (a + b) * 2, (a) + 1
SELECT a FROM t ORDER BY a OFFSET 10 ROWS FETCH NEXT 5 ROWS ONLY
SELECT a FROM t ORDER BY a OFFSET @x ROW FETCH FIRST 1 ROW ONLY
(SELECT 1) UNION (SELECT 2) EXCEPT SELECT 3 INTERSECT SELECT 4
SELECT a FROM t FOR XML PATH('r'), ROOT('x'), TYPE
SELECT a FROM t FOR JSON AUTO
SELECT (SELECT MAX(x) FROM u WHERE u.i = t.i) AS m FROM t
SELECT CASE WHEN a > 1 THEN 'x' WHEN EXISTS (SELECT 1) THEN 'y' ELSE 'z' END, CASE a WHEN 1 THEN 2 END FROM t
SELECT CAST(a AS decimal(10, 2)), TRY_CAST('x' AS int), CONVERT(varchar(max), b, 121), TRY_CONVERT(int, 'y'), PARSE('1' AS int USING 'en-US')
SELECT COALESCE(a, b, 0), NULLIF(a, 0), IIF(a > 1 AND b < 2, 'x', 'y'), ISNULL(a, 1), LEFT(s, 2), RIGHT(s, 2)
SELECT GETDATE(), CURRENT_TIMESTAMP, SYSTEM_USER, USER, SESSION_USER, @@VERSION, @@ROWCOUNT, DB_NAME()
SELECT DATEADD(day, 1, d), DATEDIFF(second, a, b), DATEPART(yyyy, d) FROM t
SELECT SUM(x) OVER (), SUM(x) OVER (PARTITION BY a ORDER BY b DESC ROWS UNBOUNDED PRECEDING), ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) FROM t
SELECT AVG(x) OVER (ORDER BY b ROWS BETWEEN 2 PRECEDING AND CURRENT ROW), LAG(x, 1, 0) OVER (ORDER BY b RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM t
SELECT STRING_AGG(name, ',') WITHIN GROUP (ORDER BY name) FROM t
SELECT TRIM('x' FROM 'xax'), TRIM(a), SUBSTRING(a, 1, 2) FROM t
SELECT -1, +2, ~3, - -4, 100., .5, 1e3, 1.5E-2, 0x0aFF, $1.5, $IDENTITY, 'it''s', N'ü', NULL
SELECT 1 + 2 * 3 - 4 / 5 % 6 & 7 | 8 ^ 9
SELECT a COLLATE Latin1_General_CI_AS, d AT TIME ZONE 'UTC' AT TIME ZONE 'Central European Standard Time' FROM t
SELECT * FROM t WHERE a BETWEEN 1 AND 2 AND b NOT BETWEEN 3 AND 4 AND c LIKE 'x%' AND d NOT LIKE N'[_]%' ESCAPE '\'
SELECT * FROM t WHERE a > ALL (SELECT b FROM u) OR a = ANY (SELECT b FROM u) OR a <= SOME (SELECT 1)
SELECT * FROM t WHERE (a = 1 OR (b + 1) * 2 > 3) AND NOT (c = 4) AND (d) = 5 AND ((e = 6))
SELECT * FROM t WHERE a !< 1 AND b !> 2 AND c != 3 AND d IS DISTINCT FROM e AND f IS NOT DISTINCT FROM NULL
SELECT [my col], "other col", [a]]b] FROM [my db].[dbo].[my table]
SELECT NEXT VALUE FOR dbo.seq
SELECT {fn UCASE('x')}, {ts '2020-01-01 00:00:00'}, {d '2020-01-01'}
SELECT name FROM master..sysdatabases
SELECT IDENTITY(int, 1, 1) AS id INTO #n FROM t
WITH a AS (SELECT 1 AS x), b (y) AS (SELECT x FROM a UNION ALL SELECT y + 1 FROM b) SELECT * FROM b OPTION (MAXRECURSION 100, OPTIMIZE FOR (@p = 1), USE HINT ('X'))
;WITH d AS (SELECT TOP 1 * FROM t) DELETE FROM d
WITH d AS (SELECT * FROM t) UPDATE d SET a = 1
WITH d AS (SELECT 1 AS a) INSERT INTO t (a) SELECT a FROM d
INSERT t VALUES (1)
INSERT vlf_test values ('vlftest',0)
INSERT INTO dbo.t (a, b) VALUES (1, DEFAULT), (NULL, 'x')
INSERT INTO t WITH (TABLOCK) (a) SELECT b FROM u
INSERT INTO t (a) (SELECT b FROM u)
INSERT INTO t DEFAULT VALUES
INSERT TOP (5) INTO t OUTPUT inserted.id, inserted.a AS x INTO @ids (id, x) SELECT a FROM u ORDER BY a
INSERT INTO t OUTPUT inserted.* VALUES (1)
INSERT #t EXEC sp_who2
INSERT INTO t (a, b) EXEC dbo.p @x = 1, @y = N'z'
INSERT @t (a) VALUES (1)
INSERT BULK dbo.t ([a] int, [b] nvarchar(20) COLLATE Latin1_General_CI_AS) WITH (TABLOCK, CHECK_CONSTRAINTS, ROWS_PER_BATCH = 100)
BULK INSERT dbo.t FROM 'c:\x.csv' WITH (FIELDTERMINATOR = ',', ROWTERMINATOR = '\n', FIRSTROW = 2, TABLOCK, FORMAT = 'CSV')
UPDATE t SET a = 1
UPDATE t SET a += 1, b = DEFAULT, @v = c = c + 1, @w = @w + 1 WHERE d = 2
UPDATE TOP (10) x SET a = u.a FROM t AS x JOIN u ON u.i = x.i WHERE u.z IS NULL OPTION (MAXDOP 1)
UPDATE t WITH (ROWLOCK) SET a ^= 1, b &= 2, c |= 4, d %= 3, e *= 2, f /= 2, g -= 1 OUTPUT deleted.a, inserted.a WHERE id = @id
UPDATE presentation_fast..vlftab set comment = upper(comment), name = upper (name)
UPDATE @t SET a = (SELECT MAX(b) FROM u)
UPDATE t SET a = 1 WHERE CURRENT OF cur
UPDATE STATISTICS dbo.t
DELETE t
DELETE FROM t WHERE a = 1
DELETE TOP (1000) FROM t WITH (PAGLOCK) OUTPUT deleted.* INTO u WHERE a < 5
DELETE x FROM t x INNER JOIN u ON u.i = x.i
DELETE FROM t WHERE CURRENT OF GLOBAL cur
TRUNCATE TABLE dbo.t
CREATE TABLE t (a int identity(1,1) not null, b char(8000) not null, c int not null)
CREATE TABLE [dbo].[t]( [ID] [int] IDENTITY(1,1) NOT NULL, [comment] [varchar](8000) NOT NULL, [DoB] [date] NOT NULL) ON [PRIMARY]
CREATE TABLE #t (a int PRIMARY KEY CLUSTERED, b varchar(max) NULL DEFAULT 'x', c AS a + 1 PERSISTED, d decimal(18, 4) CONSTRAINT df DEFAULT (0))
CREATE TABLE t (a int NOT NULL, b int REFERENCES u (i) ON DELETE CASCADE ON UPDATE SET NULL, CONSTRAINT pk PRIMARY KEY NONCLUSTERED (a DESC, b) WITH (FILLFACTOR = 80, PAD_INDEX = ON) ON [PRIMARY], UNIQUE (b), CHECK (a > 0 AND b < 5), FOREIGN KEY (a) REFERENCES v)
CREATE TABLE t (a uniqueidentifier ROWGUIDCOL DEFAULT NEWID(), b varbinary(max), c nvarchar(10) COLLATE Latin1_General_BIN, d rowversion, e sparse_type SPARSE, timestamp) ON fg TEXTIMAGE_ON fg2 WITH (DATA_COMPRESSION = PAGE)
CREATE TABLE t (a bigint IDENTITY(-10, 5) NOT FOR REPLICATION, INDEX ix NONCLUSTERED (a, b) INCLUDE (c) WHERE a > 0, c national character varying(20), d double precision, e character varying(5),)
ALTER TABLE t ADD a int NULL, b varchar(10) NOT NULL CONSTRAINT d DEFAULT ('x')
ALTER TABLE t WITH NOCHECK ADD CONSTRAINT fk FOREIGN KEY (a) REFERENCES u (a)
ALTER TABLE t ADD CONSTRAINT df DEFAULT (1) FOR a
ALTER TABLE t DROP COLUMN a, b, CONSTRAINT c
ALTER TABLE t DROP CONSTRAINT IF EXISTS c
ALTER TABLE t ALTER COLUMN a varchar(50) COLLATE Latin1_General_CI_AS NOT NULL
ALTER TABLE t NOCHECK CONSTRAINT ALL
ALTER TABLE t WITH CHECK CHECK CONSTRAINT fk
ALTER TABLE t REBUILD WITH (DATA_COMPRESSION = NONE)
ALTER TABLE t SET (LOCK_ESCALATION = DISABLE)
DROP TABLE t
DROP TABLE IF EXISTS a, dbo.b, #c
CREATE INDEX ix ON t (a)
CREATE UNIQUE CLUSTERED INDEX ix ON dbo.t (a ASC, b DESC) WITH (FILLFACTOR = 90, ONLINE = ON, DROP_EXISTING = OFF) ON [PRIMARY]
CREATE NONCLUSTERED INDEX ix ON t (a) INCLUDE (b, c) WHERE a IS NOT NULL
CREATE INDEX ix ON t (a) WITH FILLFACTOR = 70
ALTER INDEX ALL ON t REBUILD WITH (ONLINE = ON (WAIT_AT_LOW_PRIORITY (MAX_DURATION = 1, ABORT_AFTER_WAIT = SELF)))
ALTER INDEX ix ON t REORGANIZE
DROP INDEX ix ON t
DROP INDEX IF EXISTS a ON t, b ON dbo.u
DROP INDEX t.ix
DROP VIEW IF EXISTS v
DROP PROC p, q
DROP FUNCTION dbo.f
DROP SCHEMA s
DROP TYPE dbo.ty
CREATE SCHEMA s AUTHORIZATION dbo
CREATE TYPE dbo.ty FROM varchar(11) NOT NULL
CREATE TYPE dbo.tt AS TABLE (a int PRIMARY KEY, b int)
CREATE PROCEDURE dbo.p @a int, @b varchar(10) = 'x', @c int = NULL OUTPUT WITH RECOMPILE AS SELECT @a SET @c = 1 RETURN 0
CREATE OR ALTER PROC p (@t dbo.tt READONLY) AS BEGIN SELECT * FROM @t END
ALTER PROCEDURE p WITH EXECUTE AS OWNER AS RETURN
CREATE VIEW v (a, b) WITH SCHEMABINDING AS SELECT a, b FROM dbo.t WITH CHECK OPTION
CREATE VIEW v AS WITH c AS (SELECT 1 AS a) SELECT * FROM c
CREATE FUNCTION dbo.f (@a int) RETURNS int WITH RETURNS NULL ON NULL INPUT AS BEGIN DECLARE @x int = @a RETURN @x + 1 END
CREATE FUNCTION f () RETURNS TABLE AS RETURN (SELECT 1 AS a)
CREATE FUNCTION f () RETURNS @r TABLE (a int) AS BEGIN INSERT @r VALUES (1) RETURN END
CREATE DATABASE vlf
create database vlf on (name=vlf, filename='c:\vlf.mdf') log on (name=vlf_log, filename='c:\vlf_log.ldf',size=1MB,maxsize=5GB,filegrowth=1MB)
CREATE DATABASE [a b] CONTAINMENT = NONE ON PRIMARY (NAME = N'a', FILENAME = N'x', SIZE = 8192KB, MAXSIZE = UNLIMITED, FILEGROWTH = 10%), (NAME = b, FILENAME = 'y'), FILEGROUP fg DEFAULT (NAME = c, FILENAME = 'z') LOG ON (NAME = l, FILENAME = 'l', SIZE = 1TB) COLLATE Latin1_General_CI_AS WITH TRUSTWORTHY ON
CREATE DATABASE x ON (FILENAME = 'x.mdf') FOR ATTACH
CREATE DATABASE x ON (FILENAME = 'x.mdf') FOR ATTACH_REBUILD_LOG
ALTER DATABASE x SET RECOVERY FULL WITH NO_WAIT
ALTER DATABASE [x] SET  SINGLE_USER WITH ROLLBACK IMMEDIATE;
ALTER DATABASE x SET MULTI_USER
ALTER DATABASE x SET OFFLINE WITH ROLLBACK AFTER 30 SECONDS
ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = 160
ALTER DATABASE x SET READ_COMMITTED_SNAPSHOT ON, ALLOW_SNAPSHOT_ISOLATION OFF, AUTO_CLOSE OFF
ALTER DATABASE x SET TARGET_RECOVERY_TIME = 60 SECONDS
ALTER DATABASE x SET DELAYED_DURABILITY = FORCED, PAGE_VERIFY CHECKSUM
ALTER DATABASE x SET QUERY_STORE = ON (OPERATION_MODE = READ_WRITE, MAX_STORAGE_SIZE_MB = 100)
ALTER DATABASE x MODIFY FILE (NAME = N'x_log', SIZE = 512MB, FILEGROWTH = 0)
ALTER DATABASE x ADD FILE (NAME = a, FILENAME = 'a'), (NAME = b, FILENAME = 'b') TO FILEGROUP fg
ALTER DATABASE x ADD LOG FILE (NAME = l2, FILENAME = 'l2.ldf', SIZE = 5)
ALTER DATABASE x REMOVE FILE l2
ALTER DATABASE x ADD FILEGROUP fg
ALTER DATABASE x MODIFY FILEGROUP fg DEFAULT
ALTER DATABASE x MODIFY NAME = y
ALTER DATABASE x COLLATE Latin1_General_CI_AS
ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 4
DROP DATABASE IF EXISTS a, b
USE master
USE [my db];
BACKUP DATABASE vlf TO DISK = 'c:\vlf.bak' WITH STATS = 1
BACKUP LOG @db TO DISK = @path, DISK = N'b.trn' WITH NOFORMAT, INIT, NAME = N'x', SKIP, COMPRESSION, CHECKSUM, NO_TRUNCATE
BACKUP DATABASE x FILE = 'f', FILEGROUP = 'g' TO dev MIRROR TO DISK = 'm' WITH COPY_ONLY, FORMAT
BACKUP LOG x TO DISK = 'NUL:'
RESTORE DATABASE [Credit] FROM  DISK = N'C:\a.bak' WITH  FILE = 1, MOVE N'a' TO N'C:\a.mdf', MOVE N'b' TO @path, NOUNLOAD, REPLACE, STATS = 1
RESTORE LOG x FROM DISK = 'l.trn' WITH NORECOVERY, STOPAT = '2024-01-01T00:00:00'
RESTORE DATABASE x WITH RECOVERY
RESTORE HEADERONLY FROM DISK = 'a' WITH NOUNLOAD
RESTORE FILELISTONLY FROM DISK = @a
RESTORE VERIFYONLY FROM DISK = 'a' WITH CHECKSUM
RESTORE LABELONLY FROM DISK = 'a'
DBCC LOGINFO
DBCC LogInfo;
DBCC LOGINFO (vlf) WITH NO_INFOMSGS, TABLERESULTS
DBCC LOGINFO('my db')
DBCC SQLPERF("sys.dm_os_wait_stats", CLEAR)
DBCC SQLPERF(LOGSPACE)
DBCC SHRINKFILE (N'x_log' , 0, TRUNCATEONLY)
DBCC CHECKDB ([x], REPAIR_REBUILD) WITH NO_INFOMSGS, ALL_ERRORMSGS
DBCC PAGE('x', 1, 0, 3) WITH TABLERESULTS
DBCC TRACEON (3604, -1)
DBCC OPENTRAN
CHECKPOINT
CHECKPOINT 10
SHUTDOWN
shutdown with nowait
KILL 53
RECONFIGURE WITH OVERRIDE
BEGIN TRAN
BEGIN TRANSACTION t1 WITH MARK 'here'
BEGIN TRAN @name
COMMIT
COMMIT TRAN t1 WITH (DELAYED_DURABILITY = ON)
COMMIT WORK
ROLLBACK
ROLLBACK TRANSACTION sp1
SAVE TRAN sp1
DECLARE @a int, @b varchar(10) = 'x', @c AS datetime = GETDATE()
DECLARE @t TABLE (a int PRIMARY KEY, b varchar(10) DEFAULT 'x')
DECLARE c CURSOR LOCAL FAST_FORWARD FOR SELECT a FROM t ORDER BY a
DECLARE c INSENSITIVE SCROLL CURSOR FOR SELECT a FROM t FOR READ ONLY
DECLARE c CURSOR FOR SELECT a FROM t FOR UPDATE OF a, b
DECLARE @c CURSOR
SET @c = CURSOR FOR SELECT 1
SET @a = 1
SET @a += (SELECT COUNT(*) FROM t)
SET NOCOUNT ON
SET ANSI_NULLS, QUOTED_IDENTIFIER ON
SET STATISTICS IO, TIME ON
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED
SET LOCK_TIMEOUT -1
SET DEADLOCK_PRIORITY LOW
SET DATEFORMAT dmy
SET LANGUAGE us_english
SET LANGUAGE [British English]
SET ROWCOUNT @n
SET TEXTSIZE 2147483647
SET IDENTITY_INSERT dbo.t ON
SET CONTEXT_INFO 0x01
IF @a = 1 SELECT 1 ELSE SELECT 2
IF (SELECT COUNT(*) FROM t) > 0 BEGIN PRINT 'x'; END; ELSE PRINT 'y'
IF NOT EXISTS (SELECT 1) OR (@a = 1) PRINT 'z'
IF 1 = 1 PRINT 'a'; ELSE IF 2 = 2 PRINT 'b' ELSE PRINT 'c'
WHILE 1=1 BEGIN SET @x = @x + 2 IF @x > 5 BREAK ELSE CONTINUE END
WHILE (@i < 10) SET @i += 1
BEGIN SELECT 1 SELECT 2 END
RETURN
RETURN -1
RETURN (SELECT 1)
GOTO done
done:
BEGIN TRY SELECT 1/0 END TRY BEGIN CATCH THROW; END CATCH
BEGIN TRY; SELECT 1; END TRY; BEGIN CATCH END CATCH;
THROW
THROW 50001, 'x', 1
RAISERROR ('hello %s %d', 16, 1, 'x', @y) WITH NOWAIT, LOG
RAISERROR (@msg, @sev, -1) WITH SETERROR
RAISERROR (50001, 10, 1)
PRINT 'a' + CAST(@x AS varchar(5))
WAITFOR DELAY '00:00:01'
WAITFOR TIME @t
EXEC sp_who
EXEC @rc = dbo.p 1, @b = 'x', @c = @d OUTPUT, @e = DEFAULT, @f = NULL WITH RECOMPILE
EXECUTE ('select ' + @x)
EXEC @name 1, -2, N'x'
EXEC sp_helptext dbo.p
EXEC sp_executesql N'SELECT @a', N'@a int', @a = 1
EXEC master..xp_readerrorlog 0, 1, N'recovery'
sp_spaceused N'dbo.charge'
sp_help
OPEN c
FETCH NEXT FROM c INTO @a, @b
FETCH c
FETCH ABSOLUTE -3 FROM @c
CLOSE c
DEALLOCATE c
GRANT SELECT, INSERT ON dbo.t TO public, [bob] WITH GRANT OPTION
DENY VIEW SERVER STATE TO bob
REVOKE EXECUTE ON OBJECT::dbo.p FROM bob CASCADE
GRANT SELECT ON t (a, b) TO bob
"#;

#[test]
fn everyday_statements_parse_to_one_statement_each() {
    let lines: Vec<&str> = SINGLE.lines().filter(|line| !line.trim().is_empty()).collect();
    assert!(lines.len() >= 200, "{} statements", lines.len());
    let mut failures = Vec::new();
    for line in lines {
        match parse_batch(line) {
            Ok(statements) if statements.len() == 1 => {}
            Ok(statements) => failures.push(format!("{} statements: {line}", statements.len())),
            Err(error) => failures.push(format!("{error}: {line}")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn statements_need_no_separators() {
    // A procedure's name alone and a module must come first in a batch; an option without its end runs on; a CTE needs
    // its semicolon. All others follow one another freely.
    let follows = |line: &&str| {
        let upper = line.to_uppercase();
        ![
            "SP_",
            "WITH",
            "CREATE SCHEMA",
            "CREATE PROC",
            "CREATE OR",
            "CREATE VIEW",
            "CREATE FUNC",
            "ALTER PROC",
            "(",
            "RETURN",
            "THROW",
        ]
        .iter()
        .any(|start| upper.starts_with(start))
    };
    let lines: Vec<&str> = SINGLE
        .lines()
        .filter(|line| !line.trim().is_empty())
        .filter(follows)
        .collect();
    let batch = lines.join("\n");
    let statements = parse_batch(&batch).map_err(|error| error.to_string()).unwrap();
    assert_eq!(statements.len(), lines.len());
    for (index, statement) in statements.iter().enumerate() {
        let expected = u32::try_from(index + 1).unwrap();
        // An empty statement (`;` first) pushes nothing to another line: each stands on its own.
        assert_eq!(statement.line, expected, "{}", lines[index]);
    }
}

fn only(text: &str) -> StatementKind {
    let mut statements = parse_batch(text).unwrap();
    assert_eq!(statements.len(), 1, "{text}");
    statements.pop().unwrap().kind
}

fn select_item(text: &str) -> (ExpressionKind, Option<String>) {
    let StatementKind::Select(query) = only(text) else {
        panic!("{text}")
    };
    let QueryBody::Select(select) = query.body else {
        panic!("{text}")
    };
    match select.items.into_iter().next().unwrap() {
        SelectItem::Expression { expression, alias } => (expression.kind, alias.map(|alias| alias.text)),
        other => panic!("{other:?}"),
    }
}

/// An expression in full parentheses, for looking at precedence.
fn shape(expression: &Expression) -> String {
    let pair = |left: &Expression, operator: &dyn std::fmt::Debug, right: &Expression| {
        format!("({} {operator:?} {})", shape(left), shape(right))
    };
    match &expression.kind {
        ExpressionKind::Literal(Literal::Integer(value)) => value.to_string(),
        ExpressionKind::Column(name) => name.to_string(),
        ExpressionKind::Unary { operator, operand } => format!("{operator:?}({})", shape(operand)),
        ExpressionKind::Binary { left, operator, right } => pair(left, operator, right),
        ExpressionKind::Comparison { left, operator, right } => pair(left, operator, right),
        ExpressionKind::And(terms) => format!("And[{}]", terms.iter().map(shape).collect::<Vec<_>>().join(", ")),
        ExpressionKind::Or(terms) => format!("Or[{}]", terms.iter().map(shape).collect::<Vec<_>>().join(", ")),
        ExpressionKind::Not(inner) => format!("Not({})", shape(inner)),
        other => format!("{other:?}"),
    }
}

#[test]
fn operators_bind_as_sql_server_binds_them() {
    let scalars = [
        ("1 + 2 * 3", "(1 Add (2 Multiply 3))"),
        ("1 - 2 - 3", "((1 Subtract 2) Subtract 3)"),
        ("1 | 2 + 3 & 4", "(((1 BitOr 2) Add 3) BitAnd 4)"),
        ("-1 * ~2 % 3", "((Minus(1) Multiply BitNot(2)) Modulo 3)"),
        ("(1 + 2) * 3", "((1 Add 2) Multiply 3)"),
        ("8 / 4 / 2", "((8 Divide 4) Divide 2)"),
        ("2 * -3 + 1", "((2 Multiply Minus(3)) Add 1)"),
    ];
    for (text, expected) in scalars {
        assert_eq!(shape(&parse_expression(text).unwrap()), expected, "{text}");
    }
    let conditions = [
        (
            "a = 1 OR b = 2 AND c = 3",
            "Or[(a Equal 1), And[(b Equal 2), (c Equal 3)]]",
        ),
        ("NOT a = 1 AND b = 2", "And[Not((a Equal 1)), (b Equal 2)]"),
        (
            "(a + 1) * 2 >= b - 1",
            "(((a Add 1) Multiply 2) GreaterOrEqual (b Subtract 1))",
        ),
        (
            "(a = 1 OR b = 2) AND (c) !> 3",
            "And[Or[(a Equal 1), (b Equal 2)], (c LessOrEqual 3)]",
        ),
        ("((a)) <> ((1))", "(a NotEqual 1)"),
    ];
    for (text, expected) in conditions {
        assert_eq!(shape(&parse_condition(text).unwrap()), expected, "{text}");
    }
}

#[test]
fn constants_have_sql_servers_types() {
    let decimal = |unscaled, precision, scale| {
        Literal::Decimal(Box::new(DecimalLiteral {
            unscaled,
            precision,
            scale,
        }))
    };
    let table = [
        ("2147483647", Literal::Integer(i32::MAX)),
        ("2147483648", decimal(2_147_483_648, 10, 0)),
        ("100.", decimal(100, 3, 0)),
        ("0.50", decimal(50, 2, 2)),
        (".5", decimal(5, 1, 1)),
        ("00012.3400", decimal(123_400, 6, 4)),
        ("1e3", Literal::Float(1000.0)),
        ("1.5E-1", Literal::Float(0.15)),
        ("2e", Literal::Float(2.0)),
        ("$1.5", Literal::Money(15_000)),
        ("$.00005", Literal::Money(1)),
        ("0xABC", Literal::Binary(vec![0x0a, 0xbc])),
        ("0x", Literal::Binary(vec![])),
        ("'it''s'", Literal::Text("it's".into())),
        ("N'ü\n'", Literal::NationalText("ü\n".into())),
    ];
    for (text, expected) in table {
        assert_eq!(
            parse_expression(text).unwrap().kind,
            ExpressionKind::Literal(expected),
            "{text}"
        );
    }
    let most = "9".repeat(38);
    assert!(matches!(
        parse_expression(&most).unwrap().kind,
        ExpressionKind::Literal(Literal::Decimal(_))
    ));
    assert_eq!(parse_expression(&format!("{most}9")).unwrap_err().number, 1007);
}

#[test]
fn aliases_come_in_three_spellings() {
    for text in [
        "SELECT 1 x",
        "SELECT 1 AS x",
        "SELECT x = 1",
        "SELECT 1 'x'",
        "SELECT 'x' = 1",
        "SELECT 1 AS [x]",
    ] {
        let (kind, alias) = select_item(text);
        assert_eq!(
            (kind, alias.as_deref()),
            (ExpressionKind::Literal(Literal::Integer(1)), Some("x")),
            "{text}"
        );
    }
}

#[test]
fn names_keep_their_empty_parts() {
    let StatementKind::TruncateTable(truncate) = only("TRUNCATE TABLE srv.[my db]..t") else {
        panic!()
    };
    let name = truncate.name;
    assert_eq!(
        (name.server(), name.database(), name.schema(), name.object()),
        (Some("srv"), Some("my db"), None, "t")
    );
    assert_eq!(name.to_string(), "srv.my db..t");
}

#[test]
fn quoted_identifier_decides_what_double_quotes_are() {
    let kind = |text: &str, on| parse_batch_with(text, on).unwrap().pop().unwrap().kind;
    let StatementKind::Print(on) = kind("PRINT \"x\"", true) else {
        panic!()
    };
    assert_eq!(
        on.kind,
        ExpressionKind::Column(Name {
            parts: vec![Identifier {
                text: "x".into(),
                quoted: true
            }]
        })
    );
    for text in ["PRINT \"x\"", "SET QUOTED_IDENTIFIER OFF PRINT \"x\""] {
        let StatementKind::Print(off) = kind(text, text.starts_with("SET")) else {
            panic!()
        };
        assert_eq!(off.kind, ExpressionKind::Literal(Literal::Text("x".into())), "{text}");
    }
}

#[test]
fn database_files_are_read_with_their_units() {
    let StatementKind::CreateDatabase(database) = only(
        "create database v on (name=v, filename='c:\\v.mdf') log on (name=v_log, filename='c:\\v.ldf', size=5, maxsize=5GB, filegrowth=10%)",
    ) else {
        panic!()
    };
    let log = &database.log_files[0];
    assert_eq!(
        (log.name.as_str(), log.file_name.as_deref()),
        ("v_log", Some("c:\\v.ldf"))
    );
    assert_eq!(log.size.and_then(FileSize::bytes), Some(5 << 20));
    assert_eq!(
        log.size_max,
        Some(FileSizeMax::Size(FileSize {
            count: 5,
            unit: SizeUnit::Gigabytes
        }))
    );
    assert_eq!(log.growth, Some(FileGrowth::Percent(10)));
}

#[test]
fn a_statement_after_an_option_without_value_is_its_own() {
    let batch = "ALTER DATABASE x SET SINGLE_USER ALTER DATABASE x SET RECOVERY SIMPLE DROP DATABASE x";
    let statements = parse_batch(batch).unwrap();
    assert_eq!(statements.len(), 3);
    let StatementKind::AlterDatabase(alter) = &statements[1].kind else {
        panic!()
    };
    let AlterDatabaseAction::Set {
        options,
        termination: None,
    } = &alter.action
    else {
        panic!()
    };
    assert_eq!(
        (options[0].name.as_str(), options[0].value.as_deref()),
        ("RECOVERY", Some("SIMPLE"))
    );
}

#[test]
fn restore_keeps_its_moves_apart() {
    let StatementKind::Restore(restore) = only(
        "RESTORE DATABASE c FROM DISK = 'b' WITH FILE = 1, MOVE 'd' TO 'x', NORECOVERY, MOVE 'l' TO @p, STATS = 5",
    ) else {
        panic!()
    };
    assert_eq!(restore.moves.len(), 2);
    assert_eq!(restore.moves[1].1.kind, ExpressionKind::Variable("@p".into()));
    let names: Vec<_> = restore.options.iter().map(|option| option.name.as_str()).collect();
    assert_eq!(names, ["FILE", "NORECOVERY", "STATS"]);
    assert_eq!(restore.devices[0].kind, "DISK");
}

#[test]
fn bare_words_are_text_for_procedures() {
    let StatementKind::Execute(execute) = only("sp_helptext dbo.p, @flag = on, @n = -1, @o = @x out") else {
        panic!()
    };
    let values: Vec<_> = execute
        .arguments
        .iter()
        .map(|argument| argument.value.kind.clone())
        .collect();
    assert_eq!(
        values[0],
        ExpressionKind::Literal(Literal::NationalText("dbo.p".into()))
    );
    assert_eq!(values[1], ExpressionKind::Literal(Literal::NationalText("on".into())));
    assert!(matches!(
        values[2],
        ExpressionKind::Unary {
            operator: UnaryOperator::Minus,
            ..
        }
    ));
    assert_eq!(
        (execute.arguments[3].name.as_deref(), execute.arguments[3].output),
        (Some("@o"), true)
    );
}

#[test]
fn joins_nest_by_their_conditions() {
    let StatementKind::Select(query) =
        only("SELECT * FROM a JOIN b LEFT JOIN c ON b.x = c.x ON a.x = b.x JOIN d ON 1 = 1")
    else {
        panic!()
    };
    let QueryBody::Select(select) = query.body else {
        panic!()
    };
    let TableSource::Join(outer) = &select.from[0] else {
        panic!()
    };
    let TableSource::Join(inner) = &outer.left else {
        panic!()
    };
    assert!(matches!(&inner.right, TableSource::Join(deepest) if deepest.kind == JoinKind::Left));
}

#[test]
fn update_assigns_variables_and_columns() {
    let StatementKind::Update(update) = only("UPDATE t SET @v = c = d + 1, @w = @w + 1, @u = x, e += 2") else {
        panic!()
    };
    let found: Vec<_> = update
        .assignments
        .iter()
        .map(|item| (item.variable.as_deref(), item.column.as_ref().map(Name::object)))
        .collect();
    assert_eq!(
        found,
        [
            (Some("@v"), Some("c")),
            (Some("@w"), None),
            (Some("@u"), None),
            (None, Some("e"))
        ]
    );
    assert_eq!(
        update.assignments[3].operator,
        AssignmentOperator::Compound(BinaryOperator::Add)
    );
}

#[test]
fn a_label_is_no_alias() {
    let statements = parse_batch("GOTO b a: SELECT 1 b: SELECT * FROM t c: RETURN").unwrap();
    let labels = statements
        .iter()
        .filter(|statement| matches!(statement.kind, StatementKind::Label(_)))
        .count();
    assert_eq!((statements.len(), labels), (7, 3));
}

#[test]
fn expressions_carry_their_lines() {
    let StatementKind::Select(query) = only("SELECT\n 1,\n x +\n y") else {
        panic!()
    };
    let QueryBody::Select(select) = query.body else {
        panic!()
    };
    let lines: Vec<_> = select
        .items
        .iter()
        .map(|item| match item {
            SelectItem::Expression { expression, .. } => expression.line,
            _ => 0,
        })
        .collect();
    assert_eq!(lines, [2, 3]);
}

#[test]
fn parameters_of_sp_executesql_parse_alone() {
    let parameters = parse_parameters("@a int, @b nvarchar(max) = N'x' OUTPUT").unwrap();
    assert_eq!(parameters.len(), 2);
    assert_eq!(parameters[1].data_type.arguments, [TypeArgument::Max]);
    assert!(parameters[1].output && !parameters[0].output);
    assert!(parse_parameters("  ").unwrap().is_empty());
}
