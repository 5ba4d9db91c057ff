//! The errors of the type `json` of SQL Server 2025.

engine::messages! { pub(crate) fn;
    /// 1007 of a number in a text that becomes json: a `decimal` of 38 digits cannot hold it.
    json_number_out_of_range(number: &str) = 1007, 16, 5, "The number '{number}' is out of the range for numeric representation (maximum precision 38).";
    /// 1978: a json as the key of an index, or a json or shape as the subject of statistics.
    invalid_key_or_statistics_type(column: &str, table: &str) = 1978, 16, 4, "Column '{column}' in table '{table}' is of a type that is invalid for use as a key column in an index or statistics.";
    /// 13609 of a text that becomes json: the position counts bytes of UTF-8, of which the character is one.
    malformed_json_value(character: char, position: usize) = 13609, 16, 9, "JSON text is not properly formatted. Unexpected character '{character}' is found at position {position}.";
    /// 13636: json where values are compared.
    json_not_comparable() = 13636, 16, 1, "The JSON data type cannot be compared or sorted, except when using the IS NULL operator.";
    /// 13636: json where values are sorted or grouped.
    json_not_sortable() = 13636, 16, 2, "The JSON data type cannot be compared or sorted, except when using the IS NULL operator.";
    /// 13639: the string that a json is converted to is too short.
    json_target_too_small() = 13639, 16, 1, "Target string size is too small to represent the JSON instance.";
    /// 13640: code page 1252 lacks a character of a json.
    json_target_code_page() = 13640, 16, 1, "Conversion of one or more characters from the JSON instance to target codepage 1252 will result in data loss. Choose a different target collation or use nvarchar.";
    /// 13645: objects and arrays within each other.
    json_too_deep() = 13645, 16, 1, "Nested level of JSON document exceeds limit 128.";
    /// 13647: members of an object, or elements of an array.
    json_too_many_items() = 13647, 16, 1, "Number of items in one object/array exceeds limit 65535 in JSON type.";
    /// 13649: names of members in a document.
    json_too_many_keys() = 13649, 16, 1, "Number of unique keys exceeds limit 32768 in JSON type.";
    /// 13692: a mode of JSON_CONTAINS other than 0 and 1. SQL Server's words are not published.
    json_search_mode(mode: i64) = 13692, 16, 1, "The search mode {mode} of JSON_CONTAINS is not valid. It is 0 or 1.";
}
