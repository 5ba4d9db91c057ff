//! Functions of SQL Server that are not supported: calling one gives 40517, which names it. A name that SQL Server does not know either
//! gives 195.
//!
//! The list is of sql-docs, "What are the SQL database functions?", and the pages of its groups.

use engine::error::Error;

use crate::messages;

/// In lower case, in order.
const NAMES: [&str; 42] = [
    "approx_percentile_cont",
    "approx_percentile_disc",
    "assemblyproperty",
    "asymkey_id",
    "asymkeyproperty",
    "cert_id",
    "certencoded",
    "certprivatekey",
    "certproperty",
    "change_tracking_current_version",
    "change_tracking_is_column_in_mask",
    "change_tracking_min_valid_version",
    "decryptbyasymkey",
    "decryptbycert",
    "decryptbykey",
    "decryptbykeyautoasymkey",
    "decryptbykeyautocert",
    "decryptbypassphrase",
    "encryptbyasymkey",
    "encryptbycert",
    "encryptbykey",
    "encryptbypassphrase",
    "filepropertyex",
    "filetablerootpath",
    "fulltextcatalogproperty",
    "get_filestream_transaction_context",
    "get_transmission_status",
    "getpathlocator",
    "is_objectsigned",
    "key_guid",
    "key_id",
    "key_name",
    "permissions",
    "publishingservername",
    "signbyasymkey",
    "signbycert",
    "signbykey",
    "symkeyproperty",
    "typeproperty",
    "verifysignedbyasymkey",
    "verifysignedbycert",
    "xml_schema_namespace",
];

/// The error for a name that no function here has.
pub fn unknown(name: &str) -> Error {
    match NAMES.binary_search(&name.to_ascii_lowercase().as_str()) {
        Ok(_) => messages::not_supported(&name.to_uppercase()),
        Err(_) => messages::unknown_function(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function that was made since leaves the list.
    #[test]
    fn no_function_that_there_is_counts_as_absent() {
        assert!(NAMES.is_sorted());
        for name in NAMES {
            assert!(crate::functions::find(name).is_none(), "{name}");
            assert_eq!(unknown(&name.to_uppercase()).number, 40517);
        }
        assert_eq!(unknown("no_such_function").number, 195);
    }
}
