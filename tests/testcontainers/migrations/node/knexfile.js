// Knex's way to the server on PORT.
module.exports = {
    client: "mssql",
    connection: {
        server: "127.0.0.1",
        port: Number(process.env.PORT),
        user: "sa",
        password: process.env.PASSWORD,
        database: "master",
        options: { encrypt: true, trustServerCertificate: true },
    },
};
