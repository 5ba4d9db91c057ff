import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;

/**
 * Runs scripts through Microsoft's JDBC driver, each on a connection of its own, batch by batch, and writes what came back, a line each,
 * fields parted by tabs: {@code columns} with their names, {@code row} with values, {@code message} with number and text, {@code count}
 * with rows affected, {@code error} with number and text, which ends the script, and {@code end} behind each script.
 *
 * <p>Argument: the password. Each line of its input asks for a script: a port, a tab, and the path of the script.
 */
public class Script {
    private static final String NULL = "NULL";

    private static void line(String kind, Object... fields) {
        StringBuilder text = new StringBuilder(kind);
        for (Object field : fields) {
            text.append('\t').append(field == null ? NULL : field.toString().replace('\t', ' ').replace('\n', ' '));
        }
        System.out.println(text);
    }

    private static void rows(ResultSet rows) throws SQLException {
        Object[] fields = new Object[rows.getMetaData().getColumnCount()];
        for (int column = 0; column < fields.length; column++) {
            fields[column] = rows.getMetaData().getColumnLabel(column + 1);
        }
        line("columns", fields);
        while (rows.next()) {
            for (int column = 0; column < fields.length; column++) {
                fields[column] = rows.getString(column + 1);
            }
            line("row", fields);
        }
    }

    private static void messages(Statement statement) throws SQLException {
        for (SQLWarning warning = statement.getWarnings(); warning != null; warning = warning.getNextWarning()) {
            line("message", warning.getErrorCode(), warning.getMessage());
        }
        statement.clearWarnings();
    }

    private static void run(Connection connection, String batch) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            boolean isRows = statement.execute(batch);
            while (isRows || statement.getUpdateCount() >= 0) {
                messages(statement);
                if (isRows) {
                    try (ResultSet rows = statement.getResultSet()) {
                        rows(rows);
                    }
                } else {
                    line("count", statement.getUpdateCount());
                }
                isRows = statement.getMoreResults();
            }
            messages(statement);
        }
    }

    private static void run(String port, String password, Path script) throws IOException {
        String url = "jdbc:sqlserver://127.0.0.1:" + port + ";encrypt=false;trustServerCertificate=true";
        try (Connection connection = DriverManager.getConnection(url, "sa", password)) {
            for (String batch : Files.readString(script).split("(?im)^[ \\t]*go[ \\t]*\\r?$")) {
                if (!batch.isBlank()) {
                    run(connection, batch);
                }
            }
        } catch (SQLException failure) {
            line("error", failure.getErrorCode(), failure.getMessage());
        }
        line("end");
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String next = asked.readLine(); next != null; next = asked.readLine()) {
            String[] parts = next.split("\t", 2);
            run(parts[0], arguments[0], Path.of(parts[1]));
        }
    }
}
