// tedious, the client of Node.js, against the server; reports as harness.py says.
'use strict';
const { Connection, Request, TYPES } = require('tedious');

const ENCRYPT = process.env.VLFLAB_ENCRYPT || '';
const NAME = `tedious ${ENCRYPT}`.trim();
let failed = 0;

function connect(password = process.env.VLFLAB_PASSWORD) {
  return new Promise((resolve, reject) => {
    const connection = new Connection({
      // A certificate is looked at for names only.
      server: 'localhost',
      authentication: { type: 'default', options: { userName: 'sa', password } },
      options: {
        port: Number(process.env.VLFLAB_PORT), database: 'clients', 
        encrypt: { '': false, on: true, strict: 'strict' }[ENCRYPT], trustServerCertificate: ENCRYPT !== 'strict',
      },
    });
    connection.on('error', () => {});
    connection.connect((error) => (error ? reject(error) : resolve(connection)));
  });
}

// Runs a batch (or, with parameters, sp_executesql); the result sets, the messages, the first error thrown.
function run(connection, sql, parameters, onRequest) {
  return new Promise((resolve, reject) => {
    const sets = [];
    const request = new Request(sql, (error, count) => (error ? reject(error) : resolve({ sets, count })));
    request.on('columnMetadata', () => sets.push([]));
    request.on('row', (columns) => sets[sets.length - 1].push(columns.map((column) => column.value)));
    for (const [name, type, value, options] of parameters || []) request.addParameter(name, type, value, options);
    if (parameters) connection.execSql(request); else connection.execSqlBatch(request);
    if (onRequest) onRequest(request);
  });
}

async function value(connection, sql, parameters) {
  return (await run(connection, sql, parameters)).sets[0][0][0];
}

async function failure(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('no error');
}

function equal(found, expected, what) {
  const text = (item) => JSON.stringify(item, (_, part) => (typeof part === 'bigint' ? String(part) : part));
  if (text(found) !== text(expected)) throw new Error(`${what}: expected ${text(expected)}, found ${text(found)}`);
}

async function withConnection(count, test) {
  const connections = [];
  for (let i = 0; i < count; i++) connections.push(await connect());
  try {
    await test(...connections);
  } finally {
    connections.forEach((connection) => connection.close());
  }
}

const checks = {
  connects: () => withConnection(1, async (c) => {
    equal(await value(c, 'select db_name()'), 'clients', 'database');
    const refused = await failure(connect('wrong'));
    equal(/Login failed for user 'sa'/.test(refused.message), true, refused.message);
  }),
  'reads every type': () => withConnection(1, async (c) => {
    for (const [sql, expected] of [
      ['cast(1 as bit)', true], ['cast(255 as tinyint)', 255], ['cast(-5 as smallint)', -5],
      ['cast(2147483647 as int)', 2147483647], ['cast(-9223372036854775808 as bigint)', '-9223372036854775808'],
      ['cast(-123.45 as decimal(9, 2))', -123.45], ['cast(1.5e300 as float)', 1.5e300], ['cast(-0.25 as real)', -0.25],
      ["cast('ab' as char(4))", 'ab  '], ["cast(N'\u4e2d' as nvarchar(9))", '\u4e2d'],
      ["replicate(cast('m' as varchar(max)), 20000)", 'm'.repeat(20000)], ['cast(0x0102 as varbinary(9))', Buffer.from([1, 2])],
      ["cast('2026-02-28 12:34:56.790' as datetime)", new Date('2026-02-28T12:34:56.790Z')],
      ["cast('2026-02-28 12:34:56.123' as datetime2(3))", new Date('2026-02-28T12:34:56.123Z')],
      ["cast('2026-02-28' as date)", new Date('2026-02-28T00:00:00Z')],
      ["cast('6F9619FF-8B86-D011-B42D-00C04FC964FF' as uniqueidentifier)", '6F9619FF-8B86-D011-B42D-00C04FC964FF'],
      ['cast(null as int)', null], ['cast(null as nvarchar(max))', null], ['cast(12.5 as money)', 12.5],
    ]) equal(await value(c, `select ${sql}`), expected, sql);
  }),
  'sends parameters': () => withConnection(1, async (c) => {
    await run(c, "if object_id('tedious') is not null drop table tedious");
    await run(c, 'create table tedious (i int, n nvarchar(20), d decimal(9, 3), t datetime2(3), v varbinary(9), z int)');
    const parameters = [
      ['i', TYPES.Int, 7], ['n', TYPES.NVarChar, 'te\u4e2dxt'], ['d', TYPES.Decimal, 12.34, { precision: 9, scale: 3 }],
      ['t', TYPES.DateTime2, new Date('2026-01-02T03:04:05.123Z'), { scale: 3 }],
      ['v', TYPES.VarBinary, Buffer.from([1, 2])], ['z', TYPES.Int, null],
    ];
    const done = await run(c, 'insert tedious values (@i, @n, @d, @t, @v, @z)', parameters);
    equal(done.count, 1, 'rows inserted');
    const { sets } = await run(c, 'select * from tedious where n = @n', [['n', TYPES.NVarChar, 'te\u4e2dxt']]);
    equal(sets[0], [[7, 'te\u4e2dxt', 12.34, new Date('2026-01-02T03:04:05.123Z'), Buffer.from([1, 2]), null]], 'row');
  }),
  'reads and writes xml': () => withConnection(1, async (c) => {
    await run(c, "if object_id('tedious_xml') is not null drop table tedious_xml");
    await run(c, 'create table tedious_xml (id int not null primary key, d xml)');
    const text = '<order id="7"><name>te\u4e2dxt</name></order>';
    await run(c, 'insert tedious_xml values (1, @d), (2, null)', [['d', TYPES.NVarChar, text]]);
    const { sets } = await run(c, "select d, d.query('/order/name') from tedious_xml order by id");
    equal(sets[0], [[text, '<name>te\u4e2dxt</name>'], [null, null]], 'documents');
  }),
  'commits and rolls back': () => withConnection(2, async (c, other) => {
    const call = (method) => new Promise((resolve, reject) => c[method]((error) => (error ? reject(error) : resolve())));
    await run(c, "if object_id('tedious_account') is not null drop table tedious_account");
    await run(c, 'create table tedious_account (id int not null primary key, amount int)');
    await call('beginTransaction');
    await run(c, 'insert tedious_account values (1, 10)');
    await call('commitTransaction');
    await call('beginTransaction');
    await run(c, 'update tedious_account set amount = 99');
    await call('rollbackTransaction');
    equal(await value(other, 'select amount from tedious_account'), 10, 'amount');
  }),
  'is told errors': () => withConnection(1, async (c) => {
    const absent = await failure(run(c, 'select 1\n\nselect * from absent'));
    equal([absent.number, absent.class, absent.state, absent.lineNumber], [208, 16, 1, 3], absent.message);
    const key = await failure(run(c, 'insert tedious_account values (1, 1)'));
    equal([key.number, key.class], [2627, 14], key.message);
    const mine = await failure(run(c, "raiserror('mine', 16, 3)"));
    equal([mine.number, mine.state, mine.message], [50000, 3, 'mine'], 'raiserror');
  }),
  'reads several result sets': () => withConnection(1, async (c) => {
    const { sets } = await run(c, "select 1 select 2, 'x' select 3 where 1 = 0 select 4");
    equal(sets, [[[1]], [[2, 'x']], [], [[4]]], 'sets');
  }),
  cancels: () => withConnection(1, async (c) => {
    const begin = Date.now();
    const stopped = await failure(run(c, "waitfor delay '00:00:30'", null, () => setTimeout(() => c.cancel(), 200)));
    equal([stopped.code, Date.now() - begin < 15000], ['ECANCEL', true], stopped.message);
    equal(await value(c, 'select 7'), 7, 'usable afterwards');
  }),
  'waits for locks': () => withConnection(2, async (first, second) => {
    await run(first, 'begin tran update tedious_account set amount = 20');
    await run(second, 'set lock_timeout 50');
    const add = 'update tedious_account set amount = amount + 1';
    equal((await failure(run(second, add))).number, 1222, 'lock timeout');
    await run(second, 'set lock_timeout -1');
    let waits = true;
    const waiting = run(second, add).then(() => { waits = false; });
    await new Promise((resolve) => setTimeout(resolve, 300));
    equal(waits, true, 'the second writer waits');
    await run(first, 'commit');
    await waiting;
    equal(await value(first, 'select amount from tedious_account'), 21, 'both updates');
  }),
  'passes tables': () => withConnection(1, async (c) => {
    await run(c, 'drop procedure if exists dbo.tedious_sum');
    await run(c, 'drop type if exists dbo.tedious_pairs');
    await run(c, 'create type dbo.tedious_pairs as table (id int not null primary key, v nvarchar(20), m nvarchar(max))');
    await run(c, 'create procedure dbo.tedious_sum @rows dbo.tedious_pairs readonly as select count(*), max(v), max(len(m)) from @rows');
    const table = (rows) => ({
      schema: 'dbo', name: 'tedious_pairs', rows,
      columns: [{ name: 'id', type: TYPES.Int }, { name: 'v', type: TYPES.NVarChar, length: 20 },
        { name: 'm', type: TYPES.NVarChar, length: Infinity }],
    });
    const call = (rows) => new Promise((resolve, reject) => {
      const found = [];
      const request = new Request('dbo.tedious_sum', (error) => (error ? reject(error) : resolve(found)));
      request.on('row', (columns) => found.push(columns.map((column) => column.value)));
      request.addParameter('rows', TYPES.TVP, table(rows));
      c.callProcedure(request);
    });
    equal(await call([[1, 'a', 'm'.repeat(20000)], [2, 'te\u4e2dxt', null]]), [[2, 'te\u4e2dxt', 20000]], 'procedure');
    equal(await call([]), [[0, null, null]], 'no rows');
    const text = await value(c, 'select count(*) from @rows', [['rows', TYPES.TVP, table([[1, 'a', null]])]]);
    equal(text, 1, 'text');
    const twice = await failure(call([[1, 'a', null], [1, 'b', null]]));
    equal(twice.errors.map((error) => error.number), [2627, 8061], 'duplicate');
  }),
  'copies in bulk': () => withConnection(1, async (c) => {
    await run(c, 'drop table if exists tedious_bulk');
    await run(c, 'create table tedious_bulk (id int not null primary key, n nvarchar(50) default N\'none\', m varchar(max), d decimal(9, 2), t datetime2(3), x varbinary(20), c int check (c > 0))');
    const bulk = (options, rows, columns) => new Promise((resolve, reject) => {
      const load = c.newBulkLoad('tedious_bulk', options, (error, count) => (error ? reject(error) : resolve(count)));
      for (const [name, type, more] of columns || [
        ['id', TYPES.Int, { nullable: false }], ['n', TYPES.NVarChar, { length: 50, nullable: true }],
        ['m', TYPES.VarChar, { length: Infinity, nullable: true }], ['d', TYPES.Decimal, { precision: 9, scale: 2, nullable: true }],
        ['t', TYPES.DateTime2, { scale: 3, nullable: true }], ['x', TYPES.VarBinary, { length: 20, nullable: true }],
        ['c', TYPES.Int, { nullable: true }],
      ]) load.addColumn(name, type, more);
      c.execBulkLoad(load, rows);
    });
    const moment = new Date('2026-01-02T03:04:05.123Z');
    const rows = (from) => Array.from({ length: 1000 }, (_, i) => [
      from + i, i % 2 ? null : `te\u4e2d${i}`, i % 2 ? null : 'm'.repeat(i), i % 2 ? null : 1.25, moment, Buffer.from([1, 2]), i === 5 ? -1 : 1]);
    equal(await bulk({}, rows(0)), 1000, 'rows');
    equal(await bulk({ keepNulls: true, lockTable: true, order: { id: 'ASC' } }, rows(1000)), 1000, 'rows');
    const { sets } = await run(c, "select count(*), sum(case when n = N'none' then 1 else 0 end), sum(case when n is null then 1 else 0 end), max(len(m)), sum(d), min(c), max(t) from tedious_bulk");
    equal(sets[0], [[2000, 500, 500, 998, 1250, -1, moment]], 'what is there');
    equal((await failure(bulk({ checkConstraints: true }, rows(5000)))).number, 547, 'checked');
    equal((await failure(bulk({}, rows(0)))).number, 2627, 'duplicate');
    equal((await failure(bulk({ order: { id: 'ASC' } }, rows(9000).reverse()))).number, 4819, 'order');
    const narrow = [['id', TYPES.Int, { nullable: true }]];
    equal((await failure(bulk({}, [[1]], narrow))).number, 4816, 'nullability');
    equal(await value(c, 'select count(*) from tedious_bulk'), 2000, 'all or nothing');
  }),
};

const ofFailedCommit = (name) => ({
  [name]: () => withConnection(1, async (c) => {
    const call = (method) => new Promise((resolve, reject) => c[method]((error) => (error ? reject(error) : resolve())));
    await call('beginTransaction');
    await run(c, 'insert victim.dbo.committed values (1)');
    equal((await failure(call('commitTransaction'))).number, 9001, 'number');
  }),
});

(async () => {
  const alone = process.env.VLFLAB_FAILED_COMMIT;
  for (const [name, test] of Object.entries(alone ? ofFailedCommit(alone) : checks)) {
    try {
      await test();
      console.log(`ok ${NAME} ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL ${NAME} ${name}: ${String(error.stack || error).split('\n').slice(0, 2).join(' ')}`);
    }
  }
  process.exit(failed ? 1 : 0);
})();
