//! The reader of pasted layouts on any text; what it accepts is a layout that a plan can grow.
#![no_main]

use advisor::pasted::{Choice, layout_from_text};
use libfuzzer_sys::fuzz_target;
use vlf::ServerVersion;

fuzz_target!(|text: &str| {
    if let Ok(mut layout) = layout_from_text(text, ServerVersion::V2022, Choice::default()) {
        assert!(layout.vlf_count() > 0);
        let before = layout.file_bytes();
        if layout.grow(1 << 20).is_ok() {
            assert_eq!(layout.file_bytes(), before + (1 << 20));
        }
    }
});
