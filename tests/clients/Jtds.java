import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** jTDS, which speaks the TDS of SQL Server 2000; reports as harness.py says. */
public class Jtds {
    private static final String ENCRYPT = Objects.requireNonNullElse(System.getenv("VLFLAB_ENCRYPT"), "");
    private static final String URL = "jdbc:jtds:sqlserver://127.0.0.1:" + System.getenv("VLFLAB_PORT") + "/clients"
            + (ENCRYPT.isEmpty() ? "" : ";ssl=require");
    private static final String NAME = ("jTDS " + ENCRYPT).trim();
    private static int failed;

    private interface Check {
        void run() throws Exception;
    }

    private static void check(String name, Check check) {
        try {
            check.run();
            System.out.println("ok " + NAME + " " + name);
        } catch (Throwable failure) {
            failed++;
            System.out.println("FAIL " + NAME + " " + name + ": " + failure.toString().replace('\n', ' '));
        }
    }

    private static void equal(Object found, Object expected, String what) {
        if (!Objects.deepEquals(found, expected)) {
            throw new AssertionError(what + ": expected " + show(expected) + ", found " + show(found));
        }
    }

    private static String show(Object value) {
        return value instanceof byte[] bytes ? Arrays.toString(bytes) : String.valueOf(value);
    }

    private static Connection connect(String password) throws SQLException {
        return DriverManager.getConnection(URL, "sa", password);
    }

    private static Connection connect() throws SQLException {
        return connect(System.getenv("VLFLAB_PASSWORD"));
    }

    private static Object value(Connection connection, String query) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(query)) {
            rows.next();
            Object found = rows.getObject(1);
            return found instanceof java.sql.Clob clob ? clob.getSubString(1, (int) clob.length()) : found;
        }
    }

    private static SQLException failure(Check check) throws Exception {
        try {
            check.run();
        } catch (SQLException failure) {
            return failure;
        }
        throw new AssertionError("no error");
    }

    private static void connects() throws Exception {
        try (Connection connection = connect()) {
            equal(value(connection, "select db_name()"), "clients", "database");
            equal(connection.getMetaData().getDatabaseProductName(), "Microsoft SQL Server", "product");
        }
        equal(failure(() -> connect("wrong")).getErrorCode(), 18456, "wrong password");
    }

    private static void negotiated() throws Exception {
        try (Connection connection = connect(); Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(
                        "select encrypt_option, protocol_version from sys.dm_exec_connections where session_id = @@spid")) {
            row.next();
            System.out.printf("negotiated %s: encrypt_option %s, TDS %#x%n", NAME, row.getString(1), row.getInt(2));
            equal(row.getString(1), ENCRYPT.isEmpty() ? "FALSE" : "TRUE", "encrypt_option");
            equal(row.getInt(2), 0x71000001, "TDS 7.1, as SQL Server 2000 SP1 says it");
        }
    }

    private static void types() throws Exception {
        // It has no words for the types of SQL Server 2008, which it is sent as text (MS-TDS 2.2.5.4.2).
        Object[][] cases = {
            {"cast(1 as bit)", true}, {"cast(255 as tinyint)", 255}, {"cast(-5 as smallint)", -5},
            {"cast(2147483647 as int)", 2147483647}, {"cast(-9223372036854775808 as bigint)", Long.MIN_VALUE},
            {"cast(-123.4500 as decimal(9, 4))", new BigDecimal("-123.4500")}, {"cast(12.5 as money)", new BigDecimal("12.5000")},
            {"cast(1.5e300 as float)", 1.5e300}, {"cast(-0.25 as real)", -0.25f},
            {"cast('ab' as char(4))", "ab  "}, {"cast(N'\u4e2d' as nvarchar(9))", "\u4e2d"},
            {"replicate(cast('m' as varchar(max)), 20000)", "m".repeat(20000)},
            {"cast(0x0102 as varbinary(9))", new byte[] {1, 2}},
            {"cast('2026-02-28 12:34:56.790' as datetime)", Timestamp.valueOf("2026-02-28 12:34:56.79")},
            {"cast('2026-02-28 12:34:56.1234567' as datetime2)", "2026-02-28 12:34:56.1234567"},
            {"cast('2026-02-28' as date)", "2026-02-28"},
            {"cast('6F9619FF-8B86-D011-B42D-00C04FC964FF' as uniqueidentifier)", "6F9619FF-8B86-D011-B42D-00C04FC964FF"},
            {"cast(null as int)", null}, {"cast(null as varchar(max))", null},
        };
        try (Connection connection = connect()) {
            for (Object[] each : cases) {
                equal(value(connection, "select " + each[0]), each[1], (String) each[0]);
            }
        }
    }

    private static void parameters() throws Exception {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            statement.execute("if object_id('jtds') is not null drop table jtds");
            statement.execute("create table jtds (i int, n nvarchar(20), d decimal(9, 3), t datetime, v varbinary(9), z int, m ntext)");
            try (PreparedStatement insert = connection.prepareStatement("insert jtds values (?, ?, ?, ?, ?, ?, ?)")) {
                for (int round = 0; round < 4; round++) {
                    insert.setInt(1, round);
                    insert.setString(2, "te\u4e2dxt");
                    insert.setBigDecimal(3, new BigDecimal("12.340"));
                    insert.setTimestamp(4, Timestamp.valueOf("2026-01-02 03:04:05.123"));
                    insert.setBytes(5, new byte[] {1, 2});
                    insert.setNull(6, Types.INTEGER);
                    insert.setString(7, "\u00fc".repeat(2000));
                    equal(insert.executeUpdate(), 1, "rows inserted");
                }
            }
            String select = "select i, n, d, t, v, z from jtds where n = ? and i >= ? order by i";
            try (PreparedStatement prepared = connection.prepareStatement(select)) {
                for (int from = 0; from < 4; from++) {
                    prepared.setString(1, "te\u4e2dxt");
                    prepared.setInt(2, from);
                    try (ResultSet rows = prepared.executeQuery()) {
                        rows.next();
                        equal(rows.getInt(1), from, "the first");
                        equal(rows.getBigDecimal(3), new BigDecimal("12.340"), "decimal");
                        equal(rows.getTimestamp(4), Timestamp.valueOf("2026-01-02 03:04:05.123"), "datetime");
                        equal(rows.getBytes(5), new byte[] {1, 2}, "varbinary");
                        equal(rows.getObject(6), null, "null");
                    }
                }
            }
        }
    }

    private static void transactions() throws Exception {
        try (Connection connection = connect(); Connection other = connect();
                Statement statement = connection.createStatement()) {
            statement.execute("if object_id('jtds_account') is not null drop table jtds_account");
            statement.execute("create table jtds_account (id int not null primary key, amount int)");
            connection.setAutoCommit(false);
            statement.executeUpdate("insert jtds_account values (1, 10)");
            connection.commit();
            statement.executeUpdate("update jtds_account set amount = 99");
            connection.rollback();
            equal(value(other, "select amount from jtds_account"), 10, "rolled back");
            connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            statement.executeUpdate("update jtds_account set amount = 11");
            connection.commit();
            equal(value(other, "select amount from jtds_account"), 11, "committed");
        }
    }

    private static void errors() throws Exception {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            equal(failure(() -> statement.execute("select * from absent")).getErrorCode(), 208, "number");
            equal(failure(() -> statement.executeUpdate("insert jtds_account values (1, 1)")).getErrorCode(), 2627, "key");
            equal(failure(() -> statement.execute("raiserror('mine', 16, 3)")).getErrorCode(), 50000, "raiserror");
            statement.execute("print 'said'");
            equal(statement.getWarnings().getMessage().contains("said"), true, "print");
        }
    }

    private static void resultSets() throws Exception {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            equal(statement.execute("select 1 update jtds_account set amount = 12 select 'x', 3"), true, "first");
            equal(statement.getMoreResults(), false, "an update count");
            equal(statement.getUpdateCount(), 1, "rows updated");
            equal(statement.getMoreResults(), true, "second");
            try (ResultSet rows = statement.getResultSet()) {
                rows.next();
                equal(rows.getInt(2), 3, "value");
            }
        }
    }

    /** The nearest it has to a bulk copy. */
    private static void batches() throws Exception {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            statement.execute("if object_id('jtds_rows') is not null drop table jtds_rows");
            statement.execute("create table jtds_rows (i int not null primary key, n nvarchar(20))");
            try (PreparedStatement insert = connection.prepareStatement("insert jtds_rows values (?, ?)")) {
                for (int row = 0; row < 1000; row++) {
                    insert.setInt(1, row);
                    insert.setString(2, "row " + row);
                    insert.addBatch();
                }
                equal(Arrays.stream(insert.executeBatch()).sum(), 1000, "counts");
            }
            equal(value(connection, "select count(*) from jtds_rows"), 1000, "rows");
        }
    }

    private static void metadata() throws Exception {
        try (Connection connection = connect()) {
            Set<String> columns = new HashSet<>();
            try (ResultSet rows = connection.getMetaData().getColumns("clients", "dbo", "jtds_rows", "%")) {
                while (rows.next()) {
                    columns.add(rows.getString("COLUMN_NAME") + " " + rows.getString("TYPE_NAME"));
                }
            }
            equal(columns, new HashSet<>(List.of("i int", "n nvarchar")), "columns");
            try (ResultSet rows = connection.getMetaData().getPrimaryKeys("clients", "dbo", "jtds_rows")) {
                rows.next();
                equal(rows.getString("COLUMN_NAME"), "i", "key");
            }
        }
    }

    private static void cancels() throws Exception {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            statement.setQueryTimeout(1);
            long begin = System.nanoTime();
            String said = failure(() -> statement.execute("waitfor delay '00:00:30'")).getMessage();
            equal(said.contains("timed out"), true, said);
            equal(System.nanoTime() - begin < TimeUnit.SECONDS.toNanos(15), true, "in time");
            equal(value(connection, "select 7"), 7, "usable afterwards");
        }
    }

    private static void lockWait() throws Exception {
        try (Connection first = connect(); Connection second = connect();
                Statement holder = first.createStatement(); Statement waiter = second.createStatement()) {
            first.setAutoCommit(false);
            holder.executeUpdate("update jtds_account set amount = 20");
            waiter.execute("set lock_timeout 50");
            String add = "update jtds_account set amount = amount + 1";
            equal(failure(() -> waiter.executeUpdate(add)).getErrorCode(), 1222, "lock timeout");
            waiter.execute("set lock_timeout -1");
            CompletableFuture<Integer> waiting = CompletableFuture.supplyAsync(() -> {
                try {
                    return waiter.executeUpdate(add);
                } catch (SQLException failure) {
                    throw new IllegalStateException(failure);
                }
            });
            first.commit();
            equal(waiting.get(20, TimeUnit.SECONDS), 1, "rows");
            first.setAutoCommit(true);
            equal(value(first, "select amount from jtds_account"), 21, "both updates");
        }
    }

    private static void failedCommit() throws Exception {
        // The driver closes the connection itself, and refuses to have it closed again; it goes with this process.
        Connection connection = connect();
        connection.setAutoCommit(false);
        connection.createStatement().executeUpdate("insert victim.dbo.committed values (1)");
        equal(failure(connection::commit).getErrorCode(), 9001, "number");
    }

    public static void main(String[] arguments) {
        String alone = System.getenv("VLFLAB_FAILED_COMMIT");
        if (alone != null) {
            check(alone, Jtds::failedCommit);
            System.exit(failed == 0 ? 0 : 1);
        }
        check("connects", Jtds::connects);
        check("says what was negotiated", Jtds::negotiated);
        check("reads every type", Jtds::types);
        check("sends parameters", Jtds::parameters);
        check("commits and rolls back", Jtds::transactions);
        check("is told errors", Jtds::errors);
        check("reads several result sets", Jtds::resultSets);
        check("sends batches of rows", Jtds::batches);
        check("reads the catalog", Jtds::metadata);
        check("cancels", Jtds::cancels);
        check("waits for locks", Jtds::lockWait);
        System.exit(failed == 0 ? 0 : 1);
    }
}
