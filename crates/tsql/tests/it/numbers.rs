//! Functions of numbers as scripts write them: ROW_NUMBER over a product of four billion rows, of which the first ones are wanted, as many as a
//! constant, a variable or an expression of them says.
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

use answers::{answers, rows};
use transcript::{instance, session};

/// 2^32 rows, numbered.
const NUMBERS: &str = "with l0 as (select c from (values (1), (1)) v (c)), l1 as (select 1 as c from l0 a cross join l0 b), \
     l2 as (select 1 as c from l1 a cross join l1 b), l3 as (select 1 as c from l2 a cross join l2 b), \
     l4 as (select 1 as c from l3 a cross join l3 b), l5 as (select 1 as c from l4 a cross join l4 b), \
     n as (select row_number() over (order by (select null)) as rn from l5)";

#[test]
fn the_first_of_four_billion_numbers_are_there_at_once() {
    let instance = instance();
    let mut one = session(&instance);
    for (query, count, sum) in [
        ("select top (1000) rn from n order by rn", 1_000, 500_500),
        ("select rn from n where rn <= 1000 order by rn", 1_000, 500_500),
        ("select rn from n where rn < 4", 3, 6),
        ("select rn from n where 3 >= rn and rn > 1", 2, 5),
        ("select top (3) rn, rn % 2 as odd from n order by rn, odd desc", 3, 6),
        ("select rn from n where rn <= -5", 0, 0),
    ] {
        let found = answers(&mut one, &format!("{NUMBERS} {query}"));
        assert!(found.errors.is_empty(), "{query}: {:?}", found.errors);
        let numbers = found
            .rows
            .iter()
            .map(|row| row.split(' ').next().unwrap().parse::<i64>().unwrap());
        assert_eq!((found.rows.len(), numbers.sum::<i64>()), (count, sum), "{query}");
    }
    for (bound, count) in [("5", "5"), ("-1", "0"), ("null", "0")] {
        let batch = format!("declare @m int = {bound}; {NUMBERS} select count(*) from n where rn <= @m");
        assert_eq!(rows(&mut one, &batch), count);
    }
    for (bound, answer) in [
        ("len(@text)", "5|8"),
        ("case when @m > 3 then len(@text) else 2 end", "5|8"),
        ("len(replace(substring(@text, 1, 7), 'z', ''))", "5"),
        ("abs(-len(@text)) + @m - @m", "5|8"),
    ] {
        let batch = format!(
            "declare @m int = 4, @text nvarchar(25) = N'abcd:fg:i'; {NUMBERS} \
             select rn from n where rn < {bound} and substring(@text, rn, 1) = ':'"
        );
        assert_eq!(rows(&mut one, &batch), answer, "{bound}");
    }
    // A bound that another condition keeps from being computed is not computed for the sake of ending early.
    let guarded = "declare @n int = 0, @s varchar(9) = 'x' select count(*) from (select row_number() over (order by object_id) as rn from sys.objects) d where";
    for condition in [
        "@n <> 0 and rn <= 10 / @n",
        "isnumeric(@s) = 1 and rn <= cast(@s as bigint)",
    ] {
        assert_eq!(rows(&mut one, &format!("{guarded} {condition}")), "0", "{condition}");
    }
    rows(&mut one, "set showplan_text on");
    let plan = rows(&mut one, &format!("{NUMBERS} select top (1000) rn from n order by rn"));
    assert!(!plan.contains("Sort("), "{plan}");
}

/// A function that cuts a text at its colons by numbers, as scripts write it: the text is a parameter, and at the call a column or an expression.
#[test]
fn a_text_is_cut_by_numbers_up_to_its_length_in_a_function() {
    let instance = instance();
    let mut one = session(&instance);
    let function = format!(
        "create function dbo.colons (@text nvarchar(25)) returns table as return {NUMBERS}, \
         parts as (select 1 as b union all select rn + 1 from n where rn < len(@text) and substring(@text, rn, 1) = ':' \
         union all select len(@text) + 2), bounds as (select b, lead(b) over (order by b) as e from parts) \
         select substring(@text, b, e - b - 1) as part, row_number() over (order by b) as seq from bounds where e is not null"
    );
    let made = answers(&mut one, &function);
    assert!(made.errors.is_empty(), "{:?}", made.errors);
    for (query, answer) in [
        ("select part from dbo.colons(N'12:345:6') order by seq", "12|345|6"),
        (
            "declare @t nvarchar(9) = N'1:2' select part from dbo.colons(case when @t = N'1:2' then @t else N'x:y:z' end) order by seq",
            "1|2",
        ),
        (
            "select t, part from (values (N'1:22'), (N'3:4:5'), (N'6')) v (t) cross apply dbo.colons(t) order by t, seq",
            "1:22 1|1:22 22|3:4:5 3|3:4:5 4|3:4:5 5|6 6",
        ),
        (
            "select isnull((select part from dbo.colons(N'7:8:9') where seq = 3), 'none')",
            "9",
        ),
    ] {
        assert_eq!(rows(&mut one, query), answer, "{query}");
    }
}

/// An expression that reads the numbers and is read twice is kept, the four billion numbers are not.
#[test]
fn an_expression_over_numbers_is_read_several_times() {
    let instance = instance();
    let mut one = session(&instance);
    let batch = format!(
        "declare @text nvarchar(25) = N'12:345:6'; {NUMBERS}, \
         parts as (select 1 as b union all select rn + 1 from n where rn < len(@text) and substring(@text, rn, 1) = ':' \
         union all select len(@text) + 2), bounds as (select b, lead(b) over (order by b) as e from parts), \
         cut as (select substring(@text, b, e - b - 1) as part, row_number() over (order by b) as seq from bounds where e is not null) \
         select (select part from cut where seq = 1), (select part from cut where seq = 3)"
    );
    assert_eq!(rows(&mut one, &batch), "12 6");
}

/// Numbers in the reverse of an order are not those of the reverse order.
#[test]
fn the_last_number_is_that_of_the_last_row() {
    let instance = instance();
    let mut one = session(&instance);
    rows(
        &mut one,
        "create table t (a int not null primary key, b int) insert t values (1, 9), (2, 8), (3, 9), (4, 7)",
    );
    for (query, answer) in [
        (
            "select row_number() over (order by a) as n, a from t order by n desc",
            "4 4|3 3|2 2|1 1",
        ),
        (
            "select row_number() over (order by b, a) as n, a from t order by n",
            "1 4|2 2|3 1|4 3",
        ),
        (
            "select n, a from (select row_number() over (order by a desc) as n, a from t) x where n <= 2 order by n",
            "1 4|2 3",
        ),
        (
            "select n, a from (select row_number() over (partition by b order by a) as n, a from t) x where n <= 1 order by a",
            "1 1|1 2|1 4",
        ),
        (
            "select n from (select row_number() over (order by a) as n, b from t) x where n <= 3 and b = 9 order by n",
            "1|3",
        ),
        (
            "select n from (select row_number() over (order by a) as n, b from t where b > 7) x where n = 3",
            "3",
        ),
    ] {
        assert_eq!(rows(&mut one, query), answer, "{query}");
    }
}
