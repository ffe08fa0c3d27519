// Asks a query server by PostgreSQL's protocol as programs in Java do, with pgjdbc.
//
// Usage: java -cp postgresql.jar PgQueries.java <port>; a line for each part: its name, what it was told.

import java.io.StringWriter;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import org.postgresql.PGConnection;

public class PgQueries {
  public static void main(String[] args) throws Exception {
    Properties properties = new Properties();
    properties.setProperty("user", "u");
    properties.setProperty("ApplicationName", "PgQueries");
    // Prepared by name, and read in binary, from the first time on.
    properties.setProperty("prepareThreshold", "-1");
    String url = "jdbc:postgresql://127.0.0.1:" + args[0] + "/svc";
    try (Connection connection = DriverManager.getConnection(url, properties)) {
      print("types", types(connection));
      print("found", found(connection));
      print("prepared", prepared(connection));
      print("fetched", fetched(connection));
      print("tables", tables(connection));
      print("columns", columns(connection));
      print("described", described(connection));
      print("copied", copied(connection));
      print("error", failing(connection));
      print("valid", connection.isValid(10));
    }
  }

  private static void print(String name, Object told) {
    System.out.println(name + " " + told);
  }

  private static List<Object> types(Connection connection) throws SQLException {
    String sql = "SELECT true, 1::SMALLINT, 2, 3::BIGINT, 1.50::DECIMAL(10,2), 0.25::DOUBLE, 'x', "
        + "DATE '2024-02-29', TIMESTAMPTZ '2024-02-29 01:02:03+00', [1, 2], NULL::VARCHAR, "
        + "'00112233-4455-6677-8899-aabbccddeeff'::UUID";
    try (PreparedStatement statement = connection.prepareStatement(sql);
        ResultSet rows = statement.executeQuery()) {
      rows.next();
      List<Object> told = new ArrayList<>();
      for (int at = 1; at <= rows.getMetaData().getColumnCount(); at += 1) {
        Object value = rows.getObject(at);
        if (value instanceof Timestamp instant) value = instant.toInstant();
        if (value instanceof java.sql.Array array) value = Arrays.toString((Object[]) array.getArray());
        told.add(value);
      }
      return told;
    }
  }

  private static List<String> found(Connection connection) throws SQLException {
    String sql = "SELECT raw FROM events WHERE timestamp >= ? AND raw = ANY(?) ORDER BY raw LIMIT ?";
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      statement.setTimestamp(1, Timestamp.from(Instant.ofEpochSecond(1_700_000_001L)));
      statement.setArray(2, connection.createArrayOf("text", new Object[] {"row 0", "row 1", "row 3"}));
      statement.setInt(3, 10);
      try (ResultSet rows = statement.executeQuery()) {
        List<String> told = new ArrayList<>();
        while (rows.next()) told.add(rows.getString(1));
        return told;
      }
    }
  }

  private static List<Integer> prepared(Connection connection) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement("SELECT ?::int + 1 AS n")) {
      List<Integer> told = new ArrayList<>();
      for (int n = 0; n < 3; n += 1) {
        statement.setInt(1, n);
        try (ResultSet rows = statement.executeQuery()) {
          rows.next();
          told.add(rows.getInt("n"));
        }
      }
      return told;
    }
  }

  /** Rows come in parts of the fetch size, by a portal within a transaction. */
  private static String fetched(Connection connection) throws SQLException {
    connection.setAutoCommit(false);
    try (Statement statement = connection.createStatement()) {
      statement.setFetchSize(1_000);
      long sum = 0;
      int count = 0;
      try (ResultSet rows = statement.executeQuery("SELECT i FROM range(5500) r(i) ORDER BY i")) {
        while (rows.next()) {
          sum += rows.getLong(1);
          count += 1;
        }
      }
      return count + " rows, sum " + sum;
    } finally {
      connection.commit();
      connection.setAutoCommit(true);
    }
  }

  private static List<String> tables(Connection connection) throws SQLException {
    DatabaseMetaData about = connection.getMetaData();
    try (ResultSet rows = about.getTables(null, null, "event%", new String[] {"TABLE"})) {
      List<String> told = new ArrayList<>();
      while (rows.next()) {
        told.add(rows.getString("TABLE_SCHEM") + "." + rows.getString("TABLE_NAME"));
      }
      return told;
    }
  }

  private static List<String> columns(Connection connection) throws SQLException {
    DatabaseMetaData about = connection.getMetaData();
    try (ResultSet rows = about.getColumns(null, null, "events", "%");
        ResultSet keys = about.getPrimaryKeys(null, "svc", "events");
        ResultSet indexes = about.getIndexInfo(null, "svc", "events", false, true)) {
      List<String> told = new ArrayList<>();
      while (rows.next()) {
        told.add(rows.getString("COLUMN_NAME") + ":" + rows.getString("TYPE_NAME") + ":"
            + rows.getString("IS_NULLABLE"));
      }
      while (keys.next()) told.add("a key");
      while (indexes.next()) told.add("an index");
      return told;
    }
  }

  private static List<String> described(Connection connection) throws SQLException {
    String sql = "SELECT raw, timestamp FROM events WHERE length(raw) > ?";
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      ResultSetMetaData about = statement.getMetaData();
      List<String> told = new ArrayList<>();
      for (int at = 1; at <= about.getColumnCount(); at += 1) {
        told.add(about.getColumnName(at) + ":" + about.getColumnTypeName(at));
      }
      told.add(statement.getParameterMetaData().getParameterTypeName(1));
      return told;
    }
  }

  private static String copied(Connection connection) throws Exception {
    StringWriter out = new StringWriter();
    long rows = connection.unwrap(PGConnection.class).getCopyAPI()
        .copyOut("COPY (SELECT raw FROM events ORDER BY raw LIMIT 2) TO STDOUT (FORMAT csv)", out);
    return rows + " rows, " + out.toString().replace("\n", "/");
  }

  private static String failing(Connection connection) {
    try (Statement statement = connection.createStatement()) {
      statement.executeQuery("SELECT nope FROM events");
      return "none";
    } catch (SQLException error) {
      return error.getSQLState();
    }
  }
}
