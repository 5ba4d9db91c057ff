// A database of its own for a test, by testcontainers for Node: only the image's name is another.
//
//     npm install @testcontainers/mssqlserver mssql
//     docker load -i vlflab-0.1.0-mssql.tar
//     node orders.mjs
import assert from "node:assert";
import { MSSQLServerContainer } from "@testcontainers/mssqlserver";
import sql from "mssql";

const image = process.env.VLFLAB_IMAGE ?? "vlflab-mssql:0.1.0";
const server = await new MSSQLServerContainer(image).acceptLicense().start();
try {
    const pool = await sql.connect(server.getConnectionUri());
    await pool.query("CREATE TABLE orders (id int IDENTITY PRIMARY KEY, customer nvarchar(50), total decimal(9, 2))");
    for (const [customer, total] of [["Ana", 10], ["Bö", 32.5]]) {
        await pool.query`INSERT orders (customer, total) VALUES (${customer}, ${total})`;
    }
    const { recordset } = await pool.query("SELECT SUM(total) AS total FROM orders");
    assert.equal(recordset[0].total, 42.5);
    console.log(`orders: ${recordset[0].total}`);
    await pool.close();
} finally {
    await server.stop();
}
