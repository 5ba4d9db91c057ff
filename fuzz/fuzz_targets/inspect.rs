//! The log reader on any bytes: no panic, no hang, and every form of output.
#![no_main]

use advisor::html::inspection_html;
use advisor::pasted::layout_of_vlfs;
use advisor::render::{inspection_json, inspection_table};
use advisor::{Depth, inspect};
use libfuzzer_sys::fuzz_target;
use vlf::ServerVersion;

fuzz_target!(|bytes: &[u8]| {
    let found = inspect(bytes, Depth::Blocks).expect("memory can always be read");
    assert!(found.blocks.bytes <= found.file_bytes);
    assert!(found.vlfs.iter().all(|vlf| vlf.header.span().end() <= found.file_bytes));
    let _ = layout_of_vlfs(found.spans(), ServerVersion::V2022);
    let _ = inspection_table(&found, "log", true);
    let _ = inspection_html(&found, "log");
    inspection_json(&found, &mut std::io::sink()).expect("a sink takes everything");
});
