//! OPENXML, beside what the documentation shows (`reference/open_xml.txt`): documents are a session's own, outlive batches and rollbacks, and take
//! of the server's memory until they are removed.
#![allow(clippy::unwrap_used)]

use crate::story;

use story::{Story, told};

#[test]
fn documents_are_a_sessions_own_and_outlive_rollbacks() {
    let mut story = Story::begin();
    story.run("create table h (h int not null)");
    story.run(
        "declare @h int begin tran exec sp_xml_preparedocument @h output, '<a x=\"7\"/>' rollback insert h values (@h)",
    );
    let read = "declare @h int = (select h from h) select x from openxml(@h, '/a') with (x int)";
    assert_eq!(story.rows(read), ["7"]);
    let mut other = story.beside();
    let answer = told(&mut other, read);
    assert!(answer.contains("Msg 8179"), "{answer}");
    let prepared = told(
        &mut other,
        "declare @h int exec sp_xml_preparedocument @h output, '<a x=\"8\"/>' select @h",
    );
    assert!(
        prepared.contains("  1\n"),
        "the other session's own first handle: {prepared}"
    );
    let answer = told(&mut other, read);
    assert!(answer.contains("  8\n"), "{answer}");
    story.run("declare @h int = (select h from h) exec sp_xml_removedocument @h");
    assert_eq!(story.errors(read), [8179]);
}

/// A handle is read when the statement runs, also by a plan that is kept.
#[test]
fn a_procedure_reads_the_document_that_it_is_given() {
    let mut story = Story::begin();
    story.run("create procedure shred @h int, @path nvarchar(100) as select a, b from openxml(@h, @path, 3) with (a int, b varchar(9) '../b')");
    for (xml, path, expected) in [
        ("<r><b>x</b><e a=\"1\"/><e a=\"2\"/></r>", "/r/e", vec!["1 x", "2 x"]),
        ("<r><b>y</b><e><a>3</a></e></r>", "//e", vec!["3 y"]),
        ("<r/>", "/r/e", vec![]),
    ] {
        let batch = format!(
            "declare @h int exec sp_xml_preparedocument @h output, N'{xml}' exec shred @h, N'{path}' exec sp_xml_removedocument @h"
        );
        assert_eq!(story.rows(&batch), expected);
    }
}

#[test]
fn documents_take_memory_until_they_are_removed() {
    let mut story = Story::begin();
    let prepare = "declare @h int, @x nvarchar(max) = N'<a>' + replicate(cast(N'x' as nvarchar(max)), 1000000) + N'</a>' exec sp_xml_preparedocument @h output, @x";
    let kept = (0..100).take_while(|_| story.errors(prepare).is_empty()).count();
    assert!((1..100).contains(&kept), "{kept} documents of a megabyte fit into 16");
    assert_eq!(story.errors(prepare), [701]);
    story.run("declare @h int = 1 exec sp_xml_removedocument @h set @h = 3 exec sp_xml_removedocument @h");
    story.run(prepare);
}
