//! Values of xml over the wire: XMLTYPE in rows, parameters, output parameters and table-valued parameters, ntext for clients of before 7.2
//! ([MS-TDS] 2.2.5.4.3, 2.2.5.5.3; what clients read: mssql-jdbc's `XMLTDSHeader`, FreeTDS's `tds_generic_get_info`).
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
use crate::support;

use support::{Client, errors, row_count, start_sql as start};

const HEADERS: [u8; 22] = [22, 0, 0, 0, 18, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];
const NVARCHAR_MAX: [u8; 8] = [0xE7, 0xFF, 0xFF, 9, 4, 0xD0, 0, 0x34];
/// XMLTYPE without a schema collection.
const XML: [u8; 2] = [0xF1, 0];

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn name(text: &str) -> Vec<u8> {
    let units = utf16(text);
    [&[(units.len() / 2) as u8][..], &units].concat()
}

/// A value as one chunk.
fn chunks(value: &[u8]) -> Vec<u8> {
    let mut out = (value.len() as u64).to_le_bytes().to_vec();
    if !value.is_empty() {
        out.extend((value.len() as u32).to_le_bytes());
        out.extend(value);
    }
    out.extend([0; 4]);
    out
}

/// A value as the server sends it.
fn sent(text: &str) -> Vec<u8> {
    chunks(&utf16(text))
}

/// sp_executesql; each parameter with its status flags, 1 of which is output, and its type and value.
fn call(text: &str, declarations: &str, values: &[(&str, u8, &[u8])]) -> Vec<u8> {
    let mut bytes = [&HEADERS[..], &[0xFF, 0xFF, 10, 0, 0, 0]].concat();
    for text in [text, declarations] {
        bytes.extend([0, 0]);
        bytes.extend(NVARCHAR_MAX);
        bytes.extend(chunks(&utf16(text)));
    }
    for (parameter, flags, value) in values {
        bytes.extend(name(parameter));
        bytes.push(*flags);
        bytes.extend(*value);
    }
    bytes
}

fn typed(value: &[u8]) -> Vec<u8> {
    [&XML[..], &chunks(value)].concat()
}

fn holds(payload: &[u8], part: &[u8]) -> bool {
    payload.windows(part.len()).any(|window| window == part)
}

fn answer(client: &mut Client, kind: u8, request: &[u8]) -> Vec<u8> {
    client.send(kind, 1, request);
    client.payload().unwrap()
}

fn batch(client: &mut Client, text: &str) -> Vec<u8> {
    let request = [&HEADERS[..], &utf16(text)].concat();
    answer(client, 1, &request)
}

fn runs(client: &mut Client, text: &str) {
    assert_eq!(errors(&client.batch(text)), Vec::<i32>::new(), "{text}");
}

/// The part of COLMETADATA that says a column's type and name.
fn metadata(type_info: &[u8], column: &str) -> Vec<u8> {
    [type_info, &name(column)].concat()
}

#[test]
fn columns_variables_and_results_of_methods_are_xmltype() {
    let server = start();
    let mut client = Client::sa(&server);
    runs(
        &mut client,
        "create table t (n int, x xml); insert t values (1, N'<a>\u{6F22}</a>'), (2, null)",
    );
    let cases = [
        ("select x from t where n = 1", "x", "<a>\u{6F22}</a>"),
        ("declare @x xml = '<b/>' select @x v", "v", "<b/>"),
        (
            "declare @s varchar(99) = '<?xml version=\"1.0\" encoding=\"UTF-8\"?><c/>' select cast(@s as xml) v",
            "v",
            "<c/>",
        ),
        ("select x.query('/a') v from t where n = 1", "v", "<a>\u{6F22}</a>"),
        (
            "select d.x from (select x from t union all select x from t) d where d.x.exist('/a') = 1",
            "x",
            "<a>\u{6F22}</a>",
        ),
        ("select coalesce(x, '<n/>') v from t where n = 2", "v", "<n/>"),
        ("select 1 as a for xml path('r'), type", "", "<r><a>1</a></r>"),
        (
            "select (select x from t where n = 1 for xml path('r'), type) v",
            "v",
            "<r><x><a>\u{6F22}</a></x></r>",
        ),
    ];
    for (text, column, value) in cases {
        let payload = batch(&mut client, text);
        assert!(holds(&payload, &metadata(&XML, column)), "{text}: {payload:02X?}");
        assert!(
            holds(&payload, &[&[0xD1][..], &sent(value)].concat()),
            "{text}: {payload:02X?}"
        );
    }
    let null = batch(&mut client, "select x from t where n = 2");
    assert!(holds(&null, &[&[0xD1][..], &[0xFF; 8]].concat()), "{null:02X?}");
    let plain = batch(&mut client, "select 1 as a for xml path('r')");
    assert!(
        !holds(&plain, &XML[..1]) && holds(&plain, &sent("<r><a>1</a></r>")),
        "{plain:02X?}"
    );
}

#[test]
fn typed_xml_names_its_schema_collection() {
    let server = start();
    let mut client = Client::sa(&server);
    runs(
        &mut client,
        "create xml schema collection sc as N'<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\"/>'",
    );
    runs(&mut client, "create table t (x xml (sc)); insert t values ('<a/>')");
    let info = [&[0xF1, 1][..], &name("master"), &name("dbo"), &[2, 0], &utf16("sc")].concat();
    for text in [
        "select x from t",
        "select * from t",
        "select x from (select x from t) d",
        "declare @x xml (sc) = '<a/>' select @x as x",
        "declare @x xml (sc) select x from (select @x as x) d",
        "exec sp_executesql N'select @p as x', N'@p xml (sc)', @p = '<a/>'",
        "select x from (select x from t union all select x from t) d",
    ] {
        let payload = batch(&mut client, text);
        assert!(holds(&payload, &metadata(&info, "x")), "{text}: {payload:02X?}");
    }
    // An OUTPUT parameter names it behind its name, kind, user type and flags, of a text as of a procedure.
    let sent_as = [&typed(&utf16("<a/>"))[..], &[]].concat();
    let request = call(
        "select @x as x; set @x = '<b/>'",
        "@x xml (sc) output",
        &[("@x", 1, &sent_as)],
    );
    let payload = answer(&mut client, 3, &request);
    let returned = |info: &[u8]| [&name("@x")[..], &[1, 0, 0, 0, 0, 0, 0], info, &sent("<b/>")].concat();
    assert!(holds(&payload, &returned(&info)), "{payload:02X?}");
    let request = call("set @x = '<b/>'", "@x xml output", &[("@x", 1, &sent_as)]);
    let payload = answer(&mut client, 3, &request);
    assert!(holds(&payload, &returned(&XML)), "{payload:02X?}");
    // What is made of it has none.
    let made = batch(&mut client, "declare @x xml (sc) = '<a/>' select @x.query('/a') as x");
    assert!(holds(&made, &metadata(&[0xF1, 0], "x")), "{made:02X?}");
}

#[test]
fn parameters_of_xml_come_in_any_encoding_and_go_back() {
    let server = start();
    let mut client = Client::sa(&server);
    runs(&mut client, "create table t (x xml)");
    let text = "<a>h\u{E9}</a>";
    let marked = [&[0xFF, 0xFE][..], &utf16(text)].concat();
    let declared = format!("<?xml version='1.0' encoding='utf-8'?>{text}");
    for value in [utf16(text), marked, text.as_bytes().to_vec(), declared.into_bytes()] {
        let request = call(
            "select @x as v; insert t values (@x)",
            "@x xml",
            &[("@x", 0, &typed(&value))],
        );
        let payload = answer(&mut client, 3, &request);
        assert!(holds(&payload, &metadata(&XML, "v")), "{payload:02X?}");
        assert!(holds(&payload, &sent(text)), "{payload:02X?}");
    }
    assert_eq!(row_count(&client.batch("select 1 from t")), 4);
    runs(
        &mut client,
        "create procedure p @x xml output as set @x = (select @x for xml path('r'), type)",
    );
    let mut request = [&HEADERS[..], &[1, 0], &utf16("p"), &[0, 0]].concat();
    request.extend([name("@x"), vec![1], typed(&utf16("<b/>"))].concat());
    let payload = answer(&mut client, 3, &request);
    let returned = [&name("@x")[..], &[1, 0, 0, 0, 0, 0, 0], &XML, &sent("<r><b/></r>")].concat();
    assert!(holds(&payload, &returned), "{payload:02X?}");
}

#[test]
fn what_is_no_xml_is_refused() {
    let server = start();
    let mut client = Client::sa(&server);
    for (value, number) in [
        (utf16("<a>"), 9400),
        (b"<a></b>".to_vec(), 9436),
        // Binary XML ([MS-BINXML]).
        (vec![0xDF, 0xFF, 1, 0xB0, 4], 40517),
    ] {
        client.send(3, 1, &call("select @x", "@x xml", &[("@x", 0, &typed(&value))]));
        assert_eq!(errors(&client.tokens()), [number]);
    }
    runs(
        &mut client,
        "create table t (n int, x xml); insert t values (1, '<a/>')",
    );
    for (text, number) in [
        ("declare @x xml = '<a>'", 9400),
        ("insert t values (2, '<a>')", 9400),
        ("declare @s nvarchar(max) = (select x from t)", 257),
        ("declare @x xml = 1", 206),
        ("select x from t order by x", 305),
        ("select 1 from t where x = x", 305),
        ("select 1 from t where x = '<a/>'", 402),
        ("select distinct x from t", 421),
        ("select upper(x) from t", 8116),
        ("select 1 from t where x like 'a'", 8116),
        ("select cast(x as int) from t", 529),
    ] {
        assert_eq!(errors(&client.batch(text)), [number], "{text}");
    }
    assert_eq!(row_count(&client.batch("select x from t")), 1);
}
