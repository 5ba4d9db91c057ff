//! Queries larger than their memory: the same rows as with plenty of it, spill files that are really used and go away, and
//! 701 where there is no way on, after which the session is as before.
#![allow(clippy::unwrap_used, missing_docs)]

mod transcript;

use std::path::Path;
use std::sync::Arc;

use engine::instance::Instance;
use transcript::{Transcript, instance, session};
use tsql::session::Session;

/// 16,384 rows, some 1.5 MB, in no order of anything but `id`; `grp` and `name` repeat and are NULL at times.
const TABLE: &str = "
set nocount on
create table t (id int not null, grp int null, name varchar(60) null, amount decimal(12, 2) not null, at datetime2 null)
insert t values (0, 0, 'zero', 0, '2024-01-01')
declare @n int = 1
while @n < 16384
begin
    insert t
    select id + @n, nullif((id + @n) * 311 % 1009, 7),
           case when (id + @n) % 97 = 0 then null else concat('name of the row no. ', (id + @n) * 48 % 8191) end,
           ((id + @n) * 40503 % 65537 - 30000) / 7.0, dateadd(minute, (id + @n) * 77 % 10007, '2024-01-01')
    from t
    set @n = @n * 2
end";

struct Server {
    instance: Arc<Instance>,
    session: Session,
}

impl Server {
    fn new() -> Server {
        let instance = instance();
        let mut server = Server {
            session: session(&instance),
            instance,
        };
        server.run(TABLE);
        server
    }

    fn run(&mut self, batch: &str) -> String {
        let mut transcript = Transcript::default();
        self.session.execute(batch, &mut transcript);
        transcript.text
    }

    /// Runs a batch while others have all of the workspace, so that an operator has no more than what it has without asking.
    fn run_starved(&mut self, batch: &str) -> String {
        let workspace = self.instance.workspace.clone();
        let all = workspace.limit_bytes() - workspace.used_bytes();
        assert!(workspace.take(all));
        let text = self.run(batch);
        workspace.give_back(all);
        text
    }

    /// A query's answer, which must be the same with little memory as with much; `spills` says whether it needs much.
    fn assert_same(&mut self, query: &str, spills: bool) {
        let query = format!("set nocount on {query}");
        let spilled_before = self.instance.workspace.spilled_bytes();
        let roomy = self.run(&query);
        assert!(!roomy.contains("Msg "), "{query}: {roomy:.300}");
        assert_eq!(self.instance.workspace.spilled_bytes(), spilled_before, "{query}");
        let starved = self.run_starved(&query);
        let has_spilled = self.instance.workspace.spilled_bytes() > spilled_before;
        assert_eq!(has_spilled, spills, "{query}: {starved:.600}");
        assert!(roomy == starved, "{query}: {roomy:.600} and {starved:.600}");
        assert_eq!(self.instance.workspace.used_bytes(), 0, "{query}");
        let left = self.instance.env.disk.list(Path::new("/instance/data/spill"));
        assert_eq!(left.unwrap_or_default(), Vec::<std::path::PathBuf>::new(), "{query}");
    }
}

#[test]
fn sorts_beyond_memory_are_sorts() {
    let mut server = Server::new();
    for query in [
        "select * from t order by amount, id",
        "select * from t order by name desc, at, id desc",
        // Rows of equal keys come in the order in which they were read, as long as one thread reads.
        "select id, grp from t order by grp desc",
        "select name, amount from t order by 1, 2 desc offset 3000 rows fetch next 50 rows only",
        "select top (500) with ties grp, id from t order by grp",
        "select top (12) percent id, name, at from t order by at, id",
    ] {
        server.assert_same(query, true);
    }
    server.assert_same("select top 20 * from t where id < 300 order by amount, id", false);
}

#[test]
fn a_row_larger_than_a_buffer_is_sorted() {
    let mut server = Server::new();
    let query = "select id, len(big), right(big, 9) from
        (select id, cast(replicate(cast('x' as varchar(max)), 60000 + id) as varchar(max)) + cast(id as varchar(9)) as big
         from t where id between 20 and 40) as wide order by big desc";
    server.assert_same(query, true);
}
