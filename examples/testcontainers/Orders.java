import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import liquibase.Contexts;
import liquibase.Liquibase;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.resource.DirectoryResourceAccessor;
import org.flywaydb.core.Flyway;
import org.testcontainers.containers.MSSQLServerContainer;
import org.testcontainers.utility.DockerImageName;

/**
 * A database of its own for a test, by Testcontainers for Java, made by Flyway and by Liquibase: only the image's name is another.
 *
 * <pre>
 * mvn dependency:copy-dependencies -DoutputDirectory=lib      with the pom.xml beside this file
 * docker load -i vlflab-0.1.0-mssql.tar
 * java -cp 'lib/*' Orders.java
 * </pre>
 */
public class Orders {
    private static final String IMAGE = System.getenv().getOrDefault("VLFLAB_IMAGE", "vlflab-mssql:0.1.0");

    public static void main(String[] arguments) throws Exception {
        Path here = Path.of(arguments.length > 0 ? arguments[0] : ".");
        DockerImageName image = DockerImageName.parse(IMAGE).asCompatibleSubstituteFor("mcr.microsoft.com/mssql/server");
        try (MSSQLServerContainer<?> server = new MSSQLServerContainer<>(image).acceptLicense()) {
            server.start();
            byFlyway(server, here);
            byLiquibase(server, here);
            try (Connection connection = server.createConnection("")) {
                insert(connection, "Ana", "10");
                insert(connection, "Bö", "32.5");
                try (Statement statement = connection.createStatement();
                        ResultSet found = statement.executeQuery("SELECT SUM(total), COUNT(region) FROM orders")) {
                    found.next();
                    System.out.println("orders: " + found.getBigDecimal(1) + ", regions: " + found.getInt(2));
                }
            }
        }
    }

    /** Migrates, once more (nothing is left to do), and validates what was done. */
    private static void byFlyway(MSSQLServerContainer<?> server, Path here) {
        Flyway flyway = Flyway.configure()
                .dataSource(server.getJdbcUrl(), server.getUsername(), server.getPassword())
                .locations("filesystem:" + here.resolve("migrations"))
                .load();
        int migrations = flyway.migrate().migrationsExecuted;
        int again = flyway.migrate().migrationsExecuted;
        flyway.validate();
        System.out.println("flyway: " + migrations + " migrations, then " + again);
    }

    private static void byLiquibase(MSSQLServerContainer<?> server, Path here) throws Exception {
        try (Connection connection = server.createConnection("")) {
            var database = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(connection));
            Liquibase liquibase = new Liquibase("changes.xml", new DirectoryResourceAccessor(here), database);
            liquibase.update(new Contexts());
            liquibase.rollback(1, "");
            liquibase.update(new Contexts());
            int left = liquibase.listUnrunChangeSets(new Contexts(), null).size();
            System.out.println("liquibase: done, " + left + " left");
        }
    }

    private static void insert(Connection connection, String customer, String total) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement("INSERT orders (customer, total, region) VALUES (?, ?, 1)")) {
            statement.setNString(1, customer);
            statement.setBigDecimal(2, new java.math.BigDecimal(total));
            statement.executeUpdate();
        }
    }
}
