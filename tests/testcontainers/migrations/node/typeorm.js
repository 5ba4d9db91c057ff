// TypeORM makes the tables of its entities on the server on PORT, and finds nothing left to change.
const assert = require("node:assert");
const { DataSource, EntitySchema } = require("typeorm");

const Customer = new EntitySchema({
    name: "TypeormCustomer",
    columns: {
        id: { type: Number, primary: true, generated: true },
        name: { type: String, length: 50, unique: true },
        at: { type: "datetime2", createDate: true },
    },
    relations: { orders: { type: "one-to-many", target: "TypeormOrder", inverseSide: "customer" } },
});
const Order = new EntitySchema({
    name: "TypeormOrder",
    columns: { id: { type: Number, primary: true, generated: true }, total: { type: "decimal", precision: 9, scale: 2, default: 0 } },
    relations: { customer: { type: "many-to-one", target: "TypeormCustomer", inverseSide: "orders", onDelete: "CASCADE" } },
    indices: [{ columns: ["total"] }],
});

async function main() {
    const source = new DataSource({
        type: "mssql",
        host: "127.0.0.1",
        port: Number(process.env.PORT),
        username: "sa",
        password: process.env.PASSWORD,
        database: "master",
        entities: [Customer, Order],
        synchronize: true,
        options: { trustServerCertificate: true },
    });
    await source.initialize();
    const customer = await source.getRepository("TypeormCustomer").save({ name: "Bö" });
    await source.getRepository("TypeormOrder").save({ total: 42.5, customer });
    const [found] = await source.getRepository("TypeormCustomer").find({ relations: { orders: true } });
    assert.equal(found.orders[0].total, 42.5);
    const left = await source.driver.createSchemaBuilder().log();
    assert.deepEqual(left.upQueries, []);
    console.log(`typeorm: order of ${found.orders[0].total}, ${left.upQueries.length} left`);
    await source.destroy();
}

main();
