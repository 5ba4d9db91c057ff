//! `max server memory` bounds pages and queries together: resident memory stays near it under four sorts beside a full
//! buffer pool, and drops at once when RECONFIGURE lowers it.

use crate::outer::support::{Folder, Served, run, value};
use std::thread;

const MEMORY_MB: u64 = 192;
/// What a server has beside it: its program, connections, buffers of log and files, what is known about each page, and memory
/// that sorts have given back and the allocator has not. Sorts that came on top of the pages would have another 144.
const BESIDE_MB: u64 = 200;
const SORTS: u32 = 4;

/// 25,600 rows of a page each, 200 MB: more than the pool.
const WIDE_ROWS: &str = "
create table wide_rows (id int not null, padding char(8000) not null)
insert wide_rows values (0, 'x')
declare @n int = 1
while @n < 25600
begin
    insert wide_rows select id + @n, padding from wide_rows where id + @n < 25600
    set @n = @n * 2
end
select count(*) from wide_rows";

fn committed_mb(served: &Served) -> u64 {
    let committed = value(&mut served.connect(), "select committed_kb from sys.dm_os_sys_info");
    committed.parse::<u64>().unwrap() >> 10
}

#[test]
fn pages_give_way_to_sorts_and_to_a_lower_setting() {
    let mut served = Served::unstarted(Folder::new("memory"));
    served.launch.max_server_memory_mb = Some(MEMORY_MB as u32);
    served.start();
    let mut connection = served.connect();
    run(&mut connection, "create database wide");
    run(&mut connection, "alter database wide set recovery simple");
    assert_eq!(value(&mut connection, &format!("use wide {WIDE_ROWS}")), "25600");
    assert!(committed_mb(&served) > MEMORY_MB - 10, "the pool is full");

    // Each sort has a quarter of the workspace, all together have all of it: three quarters of the server's memory.
    thread::scope(|scope| {
        for number in 0..SORTS {
            let mut connection = served.connect();
            scope.spawn(move || {
                let sort = "select id from wide.dbo.wide_rows order by padding desc, id % 7919 desc, id";
                let last = format!("{sort} offset {} rows fetch next 1 rows only", 25_000 + number);
                assert_eq!(run(&mut connection, &last).len(), 1);
            });
        }
    });
    let most = served.memory_mb_max();
    println!("four sorts beside a full pool: {most} MB at most, max server memory {MEMORY_MB} MB");
    assert!(most > MEMORY_MB, "the pool was full");
    assert!(most < MEMORY_MB + BESIDE_MB, "{most} MB");

    let lower = "exec sp_configure 'show advanced options', 1 reconfigure
        exec sp_configure 'max server memory', 128 reconfigure";
    run(&mut connection, lower);
    assert!(committed_mb(&served) <= 128, "RECONFIGURE takes effect at once");
    let sum = "select count(*), sum(cast(id as bigint)) from wide.dbo.wide_rows";
    let expected = [Some("25600".to_string()), Some("327667200".to_string())];
    assert_eq!(run(&mut connection, sum), [expected]);
    assert!(committed_mb(&served) <= 128, "and stays in effect");
    served.shut_down();
    served.start();
    let target = "select committed_target_kb from sys.dm_os_sys_info";
    assert_eq!(value(&mut served.connect(), target), (128 << 10).to_string());
}
