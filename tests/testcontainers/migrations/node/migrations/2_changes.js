// Columns that come, change and are renamed, rows, and a table that is renamed.
exports.up = async (knex) => {
    await knex.schema.alterTable("knex_orders", (table) => {
        table.text("note");
        table.decimal("total", 12, 4).notNullable().defaultTo(1).alter();
        table.renameColumn("state", "status");
    });
    await knex("knex_customers").insert([{ name: "Bö" }, { name: "Ana" }]);
    await knex.schema.renameTable("knex_customers", "knex_people");
};

exports.down = async (knex) => {
    await knex.schema.renameTable("knex_people", "knex_customers");
    await knex.schema.alterTable("knex_orders", (table) => {
        table.dropColumn("note");
        table.renameColumn("status", "state");
    });
};
