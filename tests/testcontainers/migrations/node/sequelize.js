// Sequelize's migrations by Umzug, on the server on PORT: forth, one back, forth.
const assert = require("node:assert");
const { DataTypes, Sequelize } = require("sequelize");
const { SequelizeStorage, Umzug } = require("umzug");

const MIGRATIONS = [
    {
        name: "1",
        up: async ({ context }) => {
            await context.createTable("sequelize_customers", {
                id: { type: DataTypes.INTEGER, primaryKey: true, autoIncrement: true },
                name: { type: DataTypes.STRING(50), unique: true },
            });
            await context.addIndex("sequelize_customers", ["name"]);
        },
        down: ({ context }) => context.dropTable("sequelize_customers"),
    },
    {
        name: "2",
        up: async ({ context }) => {
            await context.addColumn("sequelize_customers", "total", { type: DataTypes.DECIMAL(9, 2), defaultValue: 5 });
            await context.changeColumn("sequelize_customers", "name", { type: DataTypes.STRING(80) });
            await context.renameColumn("sequelize_customers", "total", "sum");
        },
        down: ({ context }) => context.removeColumn("sequelize_customers", "sum"),
    },
];

async function main() {
    const sequelize = new Sequelize("master", "sa", process.env.PASSWORD, {
        dialect: "mssql",
        host: "127.0.0.1",
        port: Number(process.env.PORT),
        logging: false,
        dialectOptions: { options: { trustServerCertificate: true } },
    });
    const context = sequelize.getQueryInterface();
    const umzug = new Umzug({ migrations: MIGRATIONS, context, storage: new SequelizeStorage({ sequelize }), logger: undefined });
    await umzug.up();
    await umzug.down();
    assert.equal((await umzug.executed()).length, 1);
    await umzug.up();
    const columns = Object.keys(await context.describeTable("sequelize_customers"));
    assert.deepEqual(columns, ["id", "name", "sum"]);
    console.log(`sequelize: ${(await umzug.executed()).length} migrations`);
    await sequelize.close();
}

main();
