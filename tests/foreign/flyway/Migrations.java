// What Flyway does with a database of SQL Server, step by step: migrate, validate, info, repair, baseline, clean, two at once.
//
//   mvn -q dependency:copy-dependencies -f tests/foreign/flyway -DoutputDirectory=JARS
//   java -cp 'JARS/*' tests/foreign/flyway/Migrations.java HOST PORT PASSWORD
//
// Prints ok or FAIL for each step; the exit code is 1 if one failed. Its databases are called flyway_steps and flyway_baseline.

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.configuration.FluentConfiguration;

public class Migrations {
    static String server, password;
    static int failed;

    interface Step {
        Object run() throws Exception;
    }

    static void step(String name, Object expected, Step step) {
        try {
            Object found = step.run();
            boolean holds = String.valueOf(expected).equals(String.valueOf(found));
            System.out.println((holds ? "ok   " : "FAIL ") + name + (holds ? "" : ": " + found + " in place of " + expected));
            failed += holds ? 0 : 1;
        } catch (Throwable error) {
            failed++;
            System.out.println("FAIL " + name + ": " + error);
        }
    }

    /** Whether it fails, and its text has all these words. */
    static boolean fails(Step step, String... words) {
        try {
            step.run();
            return false;
        } catch (Throwable error) {
            StringBuilder all = new StringBuilder();
            for (Throwable each = error; each != null; each = each.getCause()) {
                all.append(each.getMessage()).append('\n');
            }
            for (String word : words) {
                if (!all.toString().contains(word)) {
                    System.out.println("     " + all);
                    return false;
                }
            }
            return true;
        }
    }

    static String url(String database) {
        return "jdbc:sqlserver://" + server + ";databaseName=" + database + ";encrypt=true;trustServerCertificate=true";
    }

    static Object value(String database, String query) throws Exception {
        try (Connection c = DriverManager.getConnection(url(database), "sa", password); Statement s = c.createStatement()) {
            if (!s.execute(query)) {
                return null;
            }
            try (ResultSet rows = s.getResultSet()) {
                return rows.next() ? rows.getObject(1) : null;
            }
        }
    }

    static void database(String name) throws Exception {
        value("master", "if db_id('" + name + "') is not null begin alter database " + name
            + " set single_user with rollback immediate drop database " + name + " end");
        value("master", "create database " + name);
    }

    static Path write(Path folder, String name, String text) throws Exception {
        return Files.writeString(folder.resolve(name), text);
    }

    static FluentConfiguration of(String database, Path folder) {
        return Flyway.configure().dataSource(url(database), "sa", password).locations("filesystem:" + folder)
            .placeholders(Map.of("colour", "green")).cleanDisabled(false);
    }

    static final String TABLES = """
        CREATE SCHEMA shop;
        GO
        CREATE TYPE shop.name FROM nvarchar(80) NOT NULL;
        CREATE TYPE shop.ids AS TABLE (id int NOT NULL PRIMARY KEY);
        CREATE SEQUENCE shop.numbers AS bigint START WITH 100 INCREMENT BY 5 CACHE 10;
        CREATE TABLE shop.customer (
          id int IDENTITY(1, 1) NOT NULL CONSTRAINT customer_pk PRIMARY KEY,
          name shop.name,
          since datetime2(3) NOT NULL CONSTRAINT customer_since DEFAULT sysutcdatetime(),
          upper_name AS upper(name) PERSISTED,
          CONSTRAINT customer_name CHECK (len(name) > 0));
        CREATE TABLE shop.[order] (
          number bigint NOT NULL CONSTRAINT order_number DEFAULT NEXT VALUE FOR shop.numbers,
          customer_id int NOT NULL CONSTRAINT order_customer REFERENCES shop.customer (id) ON DELETE CASCADE,
          state varchar(20) NOT NULL DEFAULT 'new; not paid',
          CONSTRAINT order_pk PRIMARY KEY NONCLUSTERED (number));
        ALTER TABLE shop.customer ADD favourite bigint NULL CONSTRAINT customer_favourite REFERENCES shop.[order] (number);
        CREATE INDEX order_open ON shop.[order] (customer_id) INCLUDE (state) WHERE state = 'new; not paid';
        CREATE SYNONYM shop.customers FOR shop.customer;
        """;
    static final String PROGRAMS = """
        -- a comment; with a semicolon
        CREATE OR ALTER PROCEDURE shop.add_customer @name nvarchar(80), @id int OUTPUT AS
        BEGIN
          SET NOCOUNT ON;
          INSERT shop.customer (name) VALUES (@name); /* ; */
          SET @id = SCOPE_IDENTITY();
        END;
        GO
        CREATE FUNCTION shop.orders_of (@id int) RETURNS TABLE AS RETURN SELECT number, state FROM shop.[order] WHERE customer_id = @id;
        GO
        CREATE FUNCTION shop.greeting (@name nvarchar(80)) RETURNS nvarchar(100) WITH SCHEMABINDING AS BEGIN RETURN N'Hello ' + @name END
        GO
        CREATE TRIGGER shop.order_changed ON shop.[order] AFTER UPDATE AS
        BEGIN
          IF UPDATE(number) THROW 50001, 'numbers stay', 1;
        END
        GO
        """;
    static final String ROWS = """
        DECLARE @id int;
        EXEC shop.add_customer N'Anna; ''the first''', @id OUTPUT;
        INSERT shop.[order] (customer_id, state) VALUES (@id, '${colour}'), (@id, DEFAULT);
        MERGE shop.customer AS t USING (VALUES (1, N'Anna'), (7, N'Bert')) AS s (id, name) ON t.id = s.id
          WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT (name) VALUES (s.name);
        """;
    static final String KEPT = """
        CREATE TABLE shop.price (
          id int NOT NULL PRIMARY KEY, price decimal(9, 2) NOT NULL,
          begins datetime2 GENERATED ALWAYS AS ROW START NOT NULL, ends datetime2 GENERATED ALWAYS AS ROW END NOT NULL,
          PERIOD FOR SYSTEM_TIME (begins, ends)) WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = shop.price_history));
        CREATE XML SCHEMA COLLECTION shop.notes AS N'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="n" type="xs:string"/></xs:schema>';
        CREATE TABLE shop.note (id int NOT NULL, text xml(shop.notes) NULL);
        CREATE PARTITION FUNCTION years (int) AS RANGE RIGHT FOR VALUES (2024, 2025);
        CREATE PARTITION SCHEME years_everywhere AS PARTITION years ALL TO ([PRIMARY]);
        CREATE TABLE shop.sale (year int NOT NULL, amount money NOT NULL) ON years_everywhere (year);
        """;
    static final String VIEWS = "CREATE OR ALTER VIEW shop.open_orders WITH SCHEMABINDING AS SELECT number, customer_id FROM shop.[order] WHERE state <> 'paid';\n";

    static final String LEFT = "select count(*) from sys.objects o where is_ms_shipped = 0 and parent_object_id = 0";

    static void steps(Path folder) throws Exception {
        String database = "flyway_steps";
        database(database);
        write(folder, "V1__tables.sql", TABLES);
        write(folder, "V2__programs.sql", PROGRAMS);
        write(folder, "V3__rows.sql", ROWS);
        write(folder, "V4__kept.sql", KEPT);
        Path views = write(folder, "R__views.sql", VIEWS);
        write(folder, "afterMigrate.sql", "IF object_id('dbo.runs') IS NULL CREATE TABLE dbo.runs (at datetime2 NOT NULL); INSERT dbo.runs VALUES (sysdatetime());\n");
        Flyway flyway = of(database, folder).load();
        step("pending before anything", 5, () -> flyway.info().pending().length);
        step("migrate", 5, () -> flyway.migrate().migrationsExecuted);
        step("migrate again", 0, () -> flyway.migrate().migrationsExecuted);
        step("the callback ran twice", 2, () -> value(database, "select count(*) from dbo.runs"));
        step("the placeholder", 1, () -> value(database, "select count(*) from shop.[order] where state = 'green'"));
        step("rows of MERGE", "Anna,Bert", () -> value(database, "select string_agg(name, ',') within group (order by id) from shop.customers"));
        step("validate", true, () -> flyway.validateWithResult().validationSuccessful);
        step("info: version", "4", () -> flyway.info().current().getVersion().getVersion());
        step("the history table", 5, () -> value(database, "select count(*) from dbo.flyway_schema_history where success = 1"));

        Files.writeString(views, VIEWS + "-- changed\n");
        step("a changed repeatable migration runs again", 1, () -> flyway.migrate().migrationsExecuted);

        Path broken = write(folder, "V5__broken.sql", "CREATE TABLE shop.half (id int); INSERT shop.half VALUES (1); SELECT 1 / 0 FROM shop.half; INSERT shop.nowhere VALUES (1);\n");
        step("a migration that fails", true, () -> fails(flyway::migrate, "V5__broken.sql", "Line"));
        step("is rolled back", null, () -> value(database, "select object_id('shop.half')"));
        step("and not in the history", 0, () -> value(database, "select count(*) from dbo.flyway_schema_history where version = '5'"));
        Files.delete(broken);

        write(folder, "V6__option.sql", "ALTER DATABASE CURRENT SET AUTO_UPDATE_STATISTICS OFF;\nGO\nCREATE TABLE shop.later (id int);\n");
        write(folder, "V6__option.sql.conf", "executeInTransaction=false\n");
        step("a migration outside a transaction", 1, () -> flyway.migrate().migrationsExecuted);
        write(folder, "V7__mixed.sql", "SELECT 1 FROM shop.nowhere;\n");
        write(folder, "V7__mixed.sql.conf", "executeInTransaction=false\n");
        step("one that fails outside a transaction", true, () -> fails(flyway::migrate, "208", "Invalid object name 'shop.nowhere'"));
        step("is in the history as failed", 1, () -> value(database, "select count(*) from dbo.flyway_schema_history where version = '7' and success = 0"));
        step("migrate refuses until repaired", true, () -> fails(flyway::migrate, "failed migration to version 7"));
        step("repair", 1, () -> flyway.repair().migrationsRemoved.size());
        Files.delete(folder.resolve("V7__mixed.sql"));
        Files.delete(folder.resolve("V7__mixed.sql.conf"));

        write(folder, "V3__rows.sql", ROWS + "-- changed\n");
        step("a changed migration", false, () -> flyway.validateWithResult().validationSuccessful);
        step("is aligned by repair", 1, () -> flyway.repair().migrationsAligned.size());
        step("and valid", true, () -> flyway.validateWithResult().validationSuccessful);
        write(folder, "V2.5__late.sql", "CREATE TABLE shop.late (id int);\n");
        step("one out of order", 1, () -> of(database, folder).outOfOrder(true).load().migrate().migrationsExecuted);

        step("clean", true, () -> flyway.clean().schemasCleaned.contains("dbo"));
        step("leaves the other schema's objects, which are not Flyway's", true, () -> ((Number) value(database, LEFT)).intValue() > 0);
        Flyway both = of(database, folder).schemas("dbo", "shop").load();
        step("clean of both schemas", true, () -> both.clean().schemasCleaned.contains("shop"));
        step("leaves no object", 0, () -> value(database, LEFT));
        step("no type", 0, () -> value(database, "select count(*) from sys.types where is_user_defined = 1"));
        step("no schema collection", 0, () -> value(database, "select count(*) from sys.xml_schema_collections where xml_collection_id > 1"));
        write(folder, "V1__tables.sql", TABLES.replace("CREATE SCHEMA shop;\nGO\n", ""));
        step("no partition function", 0, () -> value(database, "select count(*) from sys.partition_functions"));
        step("migrate after clean, in schemas that Flyway makes", 7, () -> both.migrate().migrationsExecuted);
    }

    static void together(Path folder) throws Exception {
        String database = "flyway_steps";
        database(database);
        for (int i = 1; i <= 10; i++) {
            write(folder, "V" + i + "__t.sql", "CREATE TABLE t" + i + " (id int); INSERT t" + i + " VALUES (1); WAITFOR DELAY '00:00:00.050';\n");
        }
        step("four instances at once run each migration once", 10, () -> {
            var threads = Executors.newFixedThreadPool(4);
            List<Future<Integer>> all = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                Callable<Integer> one = () -> of(database, folder).load().migrate().migrationsExecuted;
                all.add(threads.submit(one));
            }
            int sum = 0;
            for (Future<Integer> each : all) {
                sum += each.get();
            }
            threads.shutdown();
            return sum;
        });
        step("in one history", 10, () -> value(database, "select count(*) from dbo.flyway_schema_history where success = 1"));
        step("one after another in a group", 10, () -> {
            of(database, folder).load().clean();
            return of(database, folder).group(true).mixed(true).load().migrate().migrationsExecuted;
        });
    }

    static void baseline(Path folder) throws Exception {
        String database = "flyway_baseline";
        database(database);
        value(database, "create table old (id int)");
        write(folder, "V1__old.sql", "CREATE TABLE old (id int);\n");
        write(folder, "V2__new.sql", "CREATE TABLE new (id int);\n");
        Flyway flyway = of(database, folder).load();
        step("a database that has objects is refused", true, () -> fails(flyway::migrate, "non-empty schema"));
        step("baseline", "1", () -> flyway.baseline().baselineVersion);
        step("migrate from there", 1, () -> flyway.migrate().migrationsExecuted);
        step("baseline is the first row", "BASELINE", () -> value(database, "select type from dbo.flyway_schema_history where installed_rank = 1"));
        step("another table for the history, in another schema", 1, () -> {
            value(database, "create schema flyway");
            return of(database, folder).defaultSchema("flyway").schemas("flyway", "dbo").table("history").baselineOnMigrate(true).baselineVersion("1")
                .target("1").load().migrate().migrationsExecuted + 1;
        });
    }

    public static void main(String[] arguments) throws Exception {
        server = arguments[0] + ":" + arguments[1];
        password = arguments[2];
        for (String part : new String[] {"steps", "together", "baseline"}) {
            Path folder = Files.createTempDirectory("flyway");
            switch (part) {
                case "steps" -> steps(folder);
                case "together" -> together(folder);
                default -> baseline(folder);
            }
        }
        System.exit(failed == 0 ? 0 : 1);
    }
}
