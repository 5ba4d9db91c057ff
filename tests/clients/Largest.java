import java.io.DataInputStream;
import java.io.EOFException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.Arrays;

/** Writes a long value as a stream and reads it back as one; `largest.py` says what its bytes are. */
public class Largest {
    /** The value: blocks that begin with their number. */
    private static class Content extends InputStream {
        private final byte[] block;
        private final long count;
        private long at;

        Content(byte[] block, long count) {
            this.block = block.clone();
            this.count = count;
        }

        @Override
        public int read() {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
        }

        @Override
        public int read(byte[] into, int from, int length) {
            if (at == count) {
                return -1;
            }
            int place = (int) (at % block.length);
            if (place == 0) {
                ByteBuffer.wrap(block).putLong(at / block.length);
            }
            int taken = (int) Math.min(Math.min(length, block.length - place), count - at);
            System.arraycopy(block, place, into, from, taken);
            at += taken;
            return taken;
        }
    }

    public static void main(String[] arguments) throws Exception {
        byte[] block = Files.readAllBytes(Path.of(arguments[1]));
        long count = Long.parseLong(arguments[2]);
        String url = "jdbc:sqlserver://127.0.0.1:" + arguments[0]
                + ";databaseName=largest;encrypt=false;trustServerCertificate=true;responseBuffering=adaptive";
        try (Connection connection = DriverManager.getConnection(url, "sa", System.getenv("VLFLAB_PASSWORD"))) {
            try (PreparedStatement insert = connection.prepareStatement("insert v (id, v) values (?, ?)")) {
                insert.setInt(1, 1);
                insert.setBinaryStream(2, new Content(block, count), count);
                insert.executeUpdate();
            }
            try (Statement select = connection.createStatement();
                    ResultSet rows = select.executeQuery("select v from v where id = 1")) {
                rows.next();
                compare(rows.getBinaryStream(1), new Content(block, count));
            }
        }
    }

    private static void compare(InputStream found, InputStream expected) throws Exception {
        byte[] ours = new byte[1 << 16];
        byte[] theirs = new byte[1 << 16];
        DataInputStream whole = new DataInputStream(found);
        long at = 0;
        for (int length = expected.read(ours, 0, ours.length); length > 0; length = expected.read(ours, 0, ours.length)) {
            try {
                whole.readFully(theirs, 0, length);
            } catch (EOFException end) {
                throw new AssertionError("the value ends behind less than " + (at + length) + " bytes");
            }
            if (!Arrays.equals(ours, 0, length, theirs, 0, length)) {
                throw new AssertionError("other bytes behind " + at);
            }
            at += length;
        }
        if (whole.read() != -1) {
            throw new AssertionError("more than " + at + " bytes");
        }
    }
}
