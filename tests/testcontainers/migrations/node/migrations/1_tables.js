// Tables with keys, defaults, a list of values and an index.
exports.up = async (knex) => {
    await knex.schema.createTable("knex_customers", (table) => {
        table.increments("id");
        table.string("name", 50).notNullable().unique();
        table.uuid("code").defaultTo(knex.fn.uuid());
        table.timestamps(true, true);
    });
    await knex.schema.createTable("knex_orders", (table) => {
        table.bigIncrements("id");
        table.integer("customer").unsigned().references("id").inTable("knex_customers").onDelete("CASCADE");
        table.decimal("total", 9, 2).defaultTo(0);
        table.enu("state", ["new", "done"]);
        table.index(["customer", "total"], "ix_knex");
    });
};

exports.down = async (knex) => {
    await knex.schema.dropTable("knex_orders");
    await knex.schema.dropTable("knex_customers");
};
