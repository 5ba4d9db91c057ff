import com.microsoft.sqlserver.jdbc.ISQLServerBulkData;
import com.microsoft.sqlserver.jdbc.SQLServerBulkCopy;
import com.microsoft.sqlserver.jdbc.SQLServerBulkCopyOptions;
import com.microsoft.sqlserver.jdbc.SQLServerDataTable;
import com.microsoft.sqlserver.jdbc.SQLServerPreparedStatement;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLXML;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Microsoft's JDBC driver against the server; reports as harness.py says. */
public class Jdbc {
    private static final String URL = "jdbc:sqlserver://127.0.0.1:" + System.getenv("VLFLAB_PORT")
            + ";databaseName=clients;" + security();
    private static final String NAME = ("mssql-jdbc " + System.getenv("VLFLAB_ENCRYPT")).trim();
    private static int failed;

    /** encrypt=true is the driver's default. */
    private static String security() {
        return switch (System.getenv("VLFLAB_ENCRYPT")) {
            case "on" -> "trustServerCertificate=true";
            case "strict" -> "encrypt=strict;serverCertificate=" + System.getenv("VLFLAB_CERTIFICATE");
            default -> "encrypt=false;trustServerCertificate=true";
        };
    }

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
            return rows.getObject(1);
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
            equal(connection.getMetaData().getDatabaseMajorVersion(), 16, "version");
        }
        equal(failure(() -> connect("wrong")).getErrorCode(), 18456, "wrong password");
    }

    private static void types() throws Exception {
        Object[][] cases = {
            {"cast(1 as bit)", true}, {"cast(255 as tinyint)", (short) 255}, {"cast(-5 as smallint)", (short) -5},
            {"cast(2147483647 as int)", 2147483647}, {"cast(-9223372036854775808 as bigint)", Long.MIN_VALUE},
            {"cast(-123.4500 as decimal(9, 4))", new BigDecimal("-123.4500")},
            {"cast(1.5e300 as float)", 1.5e300}, {"cast(-0.25 as real)", -0.25f},
            {"cast('ab' as char(4))", "ab  "}, {"cast(N'\u4e2d' as nvarchar(9))", "\u4e2d"},
            {"replicate(cast('m' as varchar(max)), 20000)", "m".repeat(20000)},
            {"cast(0x0102 as varbinary(9))", new byte[] {1, 2}},
            {"cast('2026-02-28 12:34:56.790' as datetime)", Timestamp.valueOf("2026-02-28 12:34:56.79")},
            {"cast('2026-02-28 12:34:56.1234567' as datetime2)", Timestamp.valueOf("2026-02-28 12:34:56.1234567")},
            {"cast('2026-02-28' as date)", java.sql.Date.valueOf("2026-02-28")},
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
            statement.execute("if object_id('jdbc') is not null drop table jdbc");
            statement.execute("create table jdbc (i int, n nvarchar(20), d decimal(9, 3), t datetime2(3), v varbinary(9), z int)");
            String insert = "insert jdbc values (?, ?, ?, ?, ?, ?)";
            try (PreparedStatement prepared = connection.prepareStatement(insert)) {
                for (int round = 0; round < 4; round++) { // Prepared in earnest from the second execution on.
                    prepared.setInt(1, round);
                    prepared.setString(2, "te\u4e2dxt");
                    prepared.setBigDecimal(3, new BigDecimal("12.340"));
                    prepared.setTimestamp(4, Timestamp.valueOf("2026-01-02 03:04:05.123"));
                    prepared.setBytes(5, new byte[] {1, 2});
                    prepared.setNull(6, Types.INTEGER);
                    equal(prepared.executeUpdate(), 1, "rows inserted");
                }
            }
            String select = "select i, n, d, t, v, z from jdbc where n = ? and i >= ? order by i";
            try (PreparedStatement prepared = connection.prepareStatement(select)) {
                prepared.setString(1, "te\u4e2dxt");
                prepared.setInt(2, 3);
                try (ResultSet rows = prepared.executeQuery()) {
                    equal(rows.next(), true, "a row");
                    equal(rows.getBigDecimal(3), new BigDecimal("12.340"), "decimal");
                    equal(rows.getTimestamp(4), Timestamp.valueOf("2026-01-02 03:04:05.123"), "datetime2");
                    equal(rows.getBytes(5), new byte[] {1, 2}, "varbinary");
                    equal(rows.getObject(6), null, "null");
                    equal(rows.next(), false, "one row only");
                }
            }
        }
    }

    private static void transactions() throws Exception {
        try (Connection connection = connect(); Connection other = connect();
                Statement statement = connection.createStatement()) {
            statement.execute("if object_id('jdbc_account') is not null drop table jdbc_account");
            statement.execute("create table jdbc_account (id int not null primary key, amount int)");
            connection.setAutoCommit(false);
            statement.executeUpdate("insert jdbc_account values (1, 10)");
            connection.commit();
            statement.executeUpdate("update jdbc_account set amount = 99");
            connection.rollback();
            equal(value(other, "select amount from jdbc_account"), 10, "rolled back");
            statement.executeUpdate("update jdbc_account set amount = 11");
            connection.commit();
            equal(value(other, "select amount from jdbc_account"), 11, "committed");
        }
    }

    private static void errors() throws Exception {
        errorAfterAResultSet();
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            equal(failure(() -> statement.executeUpdate("insert jdbc_account values (1, 1)")).getErrorCode(), 2627, "key");
            equal(failure(() -> statement.execute("raiserror('mine', 16, 3)")).getErrorCode(), 50000, "raiserror");
            statement.execute("print 'said'");
            equal(statement.getWarnings().getMessage().contains("said"), true, "print");
        }
    }

    private static void errorAfterAResultSet() throws Exception {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            equal(statement.execute("select 1\n\nselect * from absent"), true, "a result set first");
            SQLException absent = failure(statement::getMoreResults);
            equal(absent.getErrorCode(), 208, "number");
            var detail = ((com.microsoft.sqlserver.jdbc.SQLServerException) absent).getSQLServerError();
            equal((int) detail.getErrorSeverity(), 16, "severity");
            equal((int) detail.getLineNumber(), 3, "line");
        }
    }

    private static void resultSets() throws Exception {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            equal(statement.execute("select 1 update jdbc_account set amount = 12 select 'x', 3"), true, "first");
            equal(statement.getMoreResults(), false, "an update count");
            equal(statement.getUpdateCount(), 1, "rows updated");
            equal(statement.getMoreResults(), true, "second");
            try (ResultSet rows = statement.getResultSet()) {
                rows.next();
                equal(rows.getInt(2), 3, "value");
            }
        }
    }

    /** selectMethod=cursor, and result sets that scroll: sp_cursoropen, sp_cursorprepexec, sp_cursorfetch. */
    private static void serverCursors() throws Exception {
        String numbers = "select n, s from jdbc_cursor order by n";
        try (Connection connection = DriverManager.getConnection(URL + ";selectMethod=cursor", "sa", System.getenv("VLFLAB_PASSWORD"));
                Statement statement = connection.createStatement()) {
            statement.execute("create table jdbc_cursor (n int not null, s varchar(20))");
            for (int n = 1; n <= 10; n++) {
                equal(statement.executeUpdate("insert jdbc_cursor values (" + n + ", 's" + n + "')"), 1, "inserted");
            }
            statement.setFetchSize(3);
            try (ResultSet rows = statement.executeQuery(numbers)) {
                equal(rows.getMetaData().getColumnCount(), 2, "columns");
                for (int n = 1; n <= 10; n++) {
                    equal(rows.next(), true, "next");
                    equal(rows.getInt(1), n, "number");
                    equal(rows.getString(2), "s" + n, "text");
                }
                equal(rows.next(), false, "end");
            }
            try (PreparedStatement prepared = connection.prepareStatement("select n from jdbc_cursor where n > ? order by n")) {
                for (int from : new int[] {8, 9, 10}) {
                    prepared.setInt(1, from);
                    try (ResultSet rows = prepared.executeQuery()) {
                        for (int n = from + 1; n <= 10; n++) {
                            equal(rows.next() && rows.getInt(1) == n, true, "row " + n);
                        }
                        equal(rows.next(), false, "end");
                    }
                }
            }
            equal(failure(() -> statement.executeQuery("select missing from jdbc_cursor")).getErrorCode(), 207, "error");
        }
        try (Connection connection = connect();
                Statement statement = connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY);
                ResultSet rows = statement.executeQuery(numbers)) {
            equal(rows.last(), true, "last");
            equal(rows.getRow(), 10, "row of the last");
            equal(rows.absolute(4) && rows.getInt(1) == 4, true, "absolute");
            equal(rows.relative(-2) && rows.getInt(1) == 2, true, "relative");
            equal(rows.previous() && rows.getInt(1) == 1, true, "previous");
            equal(rows.previous(), false, "before the first");
            equal(rows.next() && rows.getInt(1) == 1, true, "first");
            equal(rows.absolute(-1) && rows.getInt(1) == 10, true, "from the end");
            equal(rows.next(), false, "behind the last");
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
            holder.executeUpdate("update jdbc_account set amount = 20");
            waiter.execute("set lock_timeout 50");
            String add = "update jdbc_account set amount = amount + 1";
            equal(failure(() -> waiter.executeUpdate(add)).getErrorCode(), 1222, "lock timeout");
            waiter.execute("set lock_timeout -1");
            CompletableFuture<Void> waiting = CompletableFuture.runAsync(() -> {
                try {
                    waiter.executeUpdate(add);
                } catch (SQLException failure) {
                    throw new IllegalStateException(failure);
                }
            });
            try {
                waiting.get(300, TimeUnit.MILLISECONDS);
                throw new AssertionError("the second writer did not wait");
            } catch (java.util.concurrent.TimeoutException expected) {
                first.commit();
            }
            waiting.get(20, TimeUnit.SECONDS);
            first.setAutoCommit(true);
            equal(value(first, "select amount from jdbc_account"), 21, "both updates");
        }
    }

    private static void tableParameters() throws Exception {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            statement.execute("drop procedure if exists dbo.jdbc_pairs_sum");
            statement.execute("drop type if exists dbo.jdbc_pairs");
            statement.execute("create type dbo.jdbc_pairs as table (id int not null primary key, v nvarchar(20), d decimal(9, 2), m nvarchar(max))");
            statement.execute("create procedure dbo.jdbc_pairs_sum @rows dbo.jdbc_pairs readonly, @more int as"
                    + " select count(*) + @more, max(v), sum(d), max(len(m)) from @rows");
            SQLServerDataTable table = new SQLServerDataTable();
            table.addColumnMetadata("id", Types.INTEGER);
            table.addColumnMetadata("v", Types.NVARCHAR);
            table.addColumnMetadata("d", Types.DECIMAL);
            table.addColumnMetadata("m", Types.NVARCHAR);
            table.addRow(1, "a", new BigDecimal("1.25"), "m".repeat(20000));
            table.addRow(2, null, new BigDecimal("2.50"), null);
            table.addRow(3, "te\u4e2dxt", null, "");
            for (String sql : new String[] {"exec dbo.jdbc_pairs_sum ?, ?",
                "select count(*) + ?, max(v), sum(d), max(len(m)) from ?"}) {
                boolean isCall = sql.startsWith("exec");
                try (SQLServerPreparedStatement call = (SQLServerPreparedStatement) connection.prepareStatement(sql)) {
                    for (int round = 0; round < 3; round++) {
                        call.setStructured(isCall ? 1 : 2, "dbo.jdbc_pairs", table);
                        call.setInt(isCall ? 2 : 1, 10);
                        try (ResultSet rows = call.executeQuery()) {
                            rows.next();
                            equal(rows.getInt(1), 13, "rows");
                            equal(rows.getString(2), "te\u4e2dxt", "text");
                            equal(rows.getBigDecimal(3), new BigDecimal("3.75"), "sum");
                            equal(rows.getLong(4), 20000L, "length");
                        }
                    }
                }
            }
            table.clear();
            table.addColumnMetadata("id", Types.INTEGER);
            table.addRow(1);
            try (SQLServerPreparedStatement call = (SQLServerPreparedStatement) connection.prepareStatement("exec dbo.jdbc_pairs_sum ?, 1")) {
                call.setStructured(1, "dbo.jdbc_pairs", table);
                equal(failure(call::executeQuery).getErrorCode(), 500, "number of columns");
            }
        }
    }

    private static void bulkCopies() throws Exception {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            statement.execute("drop table if exists jdbc_bulk");
            statement.execute("create table jdbc_bulk (id int identity, i int not null, b bigint, d decimal(9, 3) default 7, f float, n nvarchar(20),"
                    + " v varchar(20), m nvarchar(max), x varbinary(max), t datetime2(3), dt date, u uniqueidentifier, c int check (c > 0))");
            Object[][] columns = {{"i", Types.INTEGER, 10, 0}, {"b", Types.BIGINT, 19, 0}, {"d", Types.DECIMAL, 9, 3}, {"f", Types.DOUBLE, 15, 0},
                {"n", Types.NVARCHAR, 20, 0}, {"v", Types.VARCHAR, 20, 0}, {"m", Types.LONGNVARCHAR, 0, 0},
                {"x", Types.LONGVARBINARY, 0, 0}, {"t", Types.TIMESTAMP, 23, 3}, {"dt", Types.DATE, 10, 0}, {"c", Types.INTEGER, 10, 0}};
            List<Object[]> table = new ArrayList<>();
            for (int row = 0; row < 5000; row++) {
                boolean odd = row % 2 == 1;
                table.add(new Object[] {row, odd ? null : (long) row, odd ? null : new BigDecimal("1.500"), 0.5, "te\u4e2d" + row,
                    odd ? null : "v" + row, odd ? null : "m".repeat(row % 300), odd ? null : new byte[] {1, 2, (byte) row},
                    Timestamp.valueOf("2026-01-02 03:04:05.123"), java.sql.Date.valueOf("2026-02-28"), row == 7 ? -1 : 1});
            }
            bulk(connection, table, columns, false);
            try (ResultSet rows = statement.executeQuery("select count(*), count(b), sum(d), min(id), max(id), min(c), count(distinct t),"
                    + " cast(max(len(m)) as int), cast(sum(datalength(x)) as int) from jdbc_bulk")) {
                rows.next();
                Object[] expected = {5000, 2500, new BigDecimal("21250.000"), 1, 5000, -1, 1, 298, 7500};
                for (int place = 0; place < expected.length; place++) {
                    equal(rows.getObject(place + 1), expected[place], "column " + (place + 1));
                }
            }
            equal(value(connection, "select is_not_trusted from sys.check_constraints where parent_object_id = object_id('jdbc_bulk')"), true, "trust");
            equal(failure(() -> bulk(connection, table, columns, true)).getErrorCode(), 547, "checked");
            equal(value(connection, "select count(*) from jdbc_bulk"), 5000, "all or nothing");
        }
    }

    /** Rows of a bulk copy with their columns: name, type, precision, scale. */
    private record Rows(Object[][] columns, Iterator<Object[]> rows) implements ISQLServerBulkData {
        @Override
        public Set<Integer> getColumnOrdinals() {
            return IntStream.rangeClosed(1, columns.length).boxed().collect(Collectors.toCollection(TreeSet::new));
        }

        @Override
        public String getColumnName(int column) {
            return (String) columns[column - 1][0];
        }

        @Override
        public int getColumnType(int column) {
            return (int) columns[column - 1][1];
        }

        @Override
        public int getPrecision(int column) {
            return (int) columns[column - 1][2];
        }

        @Override
        public int getScale(int column) {
            return (int) columns[column - 1][3];
        }

        @Override
        public Object[] getRowData() {
            return rows.next();
        }

        @Override
        public boolean next() {
            return rows.hasNext();
        }
    }

    private static void bulk(Connection connection, List<Object[]> table, Object[][] columns, boolean checked) throws SQLException {
        SQLServerBulkCopyOptions options = new SQLServerBulkCopyOptions();
        options.setCheckConstraints(checked);
        options.setTableLock(checked);
        try (SQLServerBulkCopy copy = new SQLServerBulkCopy(connection)) {
            copy.setBulkCopyOptions(options);
            copy.setDestinationTableName("dbo.jdbc_bulk");
            for (Object[] column : columns) {
                copy.addColumnMapping((String) column[0], (String) column[0]);
            }
            copy.writeToServer(new Rows(columns, table.iterator()));
        }
    }

    private static List<String> told(ResultSet rows, String... columns) throws SQLException {
        List<String> told = new ArrayList<>();
        try (rows) {
            while (rows.next()) {
                List<String> fields = new ArrayList<>();
                for (String column : columns) {
                    fields.add(rows.getString(column));
                }
                told.add(String.join(" ", fields));
            }
        }
        return told;
    }

    /** What Hibernate and every tool with a tree of tables ask. */
    private static void metadata() throws Exception {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            statement.execute("drop table if exists jdbc_catalog");
            statement.execute("create table jdbc_catalog (id int identity not null primary key, n nvarchar(20), d int)");
            var catalog = connection.getMetaData();
            equal(told(catalog.getTables("clients", "dbo", "jdbc_catalog", null), "TABLE_NAME", "TABLE_TYPE"),
                    List.of("jdbc_catalog TABLE"), "tables");
            equal(told(catalog.getColumns("clients", "dbo", "jdbc_catalog", "%"), "COLUMN_NAME", "IS_AUTOINCREMENT",
                    "IS_GENERATEDCOLUMN", "IS_NULLABLE", "ORDINAL_POSITION"),
                    List.of("id YES NO NO 1", "n NO NO YES 2", "d NO NO YES 3"), "columns");
            equal(told(catalog.getPrimaryKeys("clients", "dbo", "jdbc_catalog"), "COLUMN_NAME"), List.of("id"), "key");
            equal(told(catalog.getIndexInfo("clients", "dbo", "jdbc_catalog", false, true), "NON_UNIQUE").size(), 2, "indexes");
            equal(told(catalog.getTablePrivileges("clients", "dbo", "jdbc_catalog"), "PRIVILEGE"),
                    List.of("DELETE", "INSERT", "REFERENCES", "SELECT", "UPDATE"), "privileges of the table");
            equal(told(catalog.getColumnPrivileges("clients", "dbo", "jdbc_catalog", "n"), "PRIVILEGE"),
                    List.of("INSERT", "REFERENCES", "SELECT", "UPDATE"), "privileges of a column");
            equal(told(catalog.getTypeInfo(), "TYPE_NAME").contains("nvarchar"), true, "types");
        }
    }

    private static void xml() throws Exception {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            statement.execute("if object_id('jdbc_xml') is not null drop table jdbc_xml");
            statement.execute("create table jdbc_xml (id int not null primary key, d xml)");
            String text = "<order id=\"7\"><name>te\u4e2dxt</name></order>";
            try (PreparedStatement insert = connection.prepareStatement("insert jdbc_xml values (?, ?)")) {
                SQLXML document = connection.createSQLXML();
                document.setString(text);
                insert.setInt(1, 1);
                insert.setSQLXML(2, document);
                equal(insert.executeUpdate(), 1, "a document");
                insert.setInt(1, 2);
                insert.setString(2, text);
                equal(insert.executeUpdate(), 1, "a text");
                insert.setInt(1, 3);
                insert.setNull(2, Types.SQLXML);
                equal(insert.executeUpdate(), 1, "NULL");
            }
            try (ResultSet rows = statement.executeQuery("select d, d.query('/order/name') from jdbc_xml order by id")) {
                equal(rows.getMetaData().getColumnTypeName(1), "xml", "type");
                for (int row = 0; row < 2; row++) {
                    equal(rows.next(), true, "a row");
                    // A document is read once, as one or the other.
                    equal(row == 0 ? rows.getSQLXML(1).getString() : rows.getString(1), text, "document");
                    equal(rows.getSQLXML(2).getString(), "<name>te\u4e2dxt</name>", "of query()");
                }
                equal(rows.next(), true, "a row");
                equal(rows.getSQLXML(1), null, "NULL");
            }
            equal(told(connection.getMetaData().getColumns("clients", "dbo", "jdbc_xml", "d"), "TYPE_NAME"), List.of("xml"), "catalog");
        }
    }

    private static void failedCommit() throws Exception {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.executeUpdate("insert victim.dbo.committed values (1)");
            equal(failure(connection::commit).getErrorCode(), 9001, "number");
        }
    }

    public static void main(String[] arguments) {
        String alone = System.getenv("VLFLAB_FAILED_COMMIT");
        if (alone != null) {
            check(alone, Jdbc::failedCommit);
            System.exit(failed == 0 ? 0 : 1);
        }
        check("connects", Jdbc::connects);
        check("reads every type", Jdbc::types);
        check("sends parameters", Jdbc::parameters);
        check("reads and writes xml", Jdbc::xml);
        check("commits and rolls back", Jdbc::transactions);
        check("is told errors", Jdbc::errors);
        check("reads several result sets", Jdbc::resultSets);
        check("reads by server cursors", Jdbc::serverCursors);
        check("cancels", Jdbc::cancels);
        check("waits for locks", Jdbc::lockWait);
        check("passes tables", Jdbc::tableParameters);
        check("copies in bulk", Jdbc::bulkCopies);
        check("reads the catalog", Jdbc::metadata);
        System.exit(failed == 0 ? 0 : 1);
    }
}
