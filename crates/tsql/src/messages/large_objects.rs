//! The errors of large values that are changed in parts, of text pointers, and of documents that OPENXML reads.

engine::messages! { pub(crate) fn;
    /// 305: xml where values are compared or sorted.
    xml_not_comparable() = 305, 16, 1, "The XML data type cannot be compared or sorted, except when using the IS NULL operator.";
    /// 280: TEXTPTR of something else.
    text_pointer_of_no_column() = 280, 16, 1, "Only base table columns are allowed in the TEXTPTR function.";
    /// 283
    read_text_of_trigger_table() = 283, 16, 1, "READTEXT cannot be used on inserted or deleted tables within an INSTEAD OF trigger.";
    /// 285
    text_statement_of_view() = 285, 16, 1, "The READTEXT, WRITETEXT, and UPDATETEXT statements cannot be used with views or functions.";
    /// 458: SELECT INTO with typed xml of another database.
    into_with_foreign_collection(table: &str, column: &str, collection: &str, database: &str) = 458, 16, 1, "Cannot create the SELECT INTO target table \"{table}\" because the xml column \"{column}\" is typed with a schema collection \"{collection}\" from database \"{database}\". Xml columns cannot refer to schemata across databases.";
    /// 518: UPDATETEXT with a source of another type.
    cannot_convert_text(from: &str, to: &str) = 518, 16, 1, "Cannot convert data type {from} to {to}.";
    /// 6602: a document that is not well formed.
    xml_document(words: &str) = 6602, 16, 2, "The error description is '{words}'.";
    /// 6603: a pattern of OPENXML that is none.
    xml_pattern(words: &str, pattern: &str) = 6603, 16, 2, "XML parsing error: {words}\r\n\n{pattern}--><--";
    /// 6624: no handle is left for another document.
    no_xml_handle_left() = 6624, 16, 1, "XML document could not be created because server memory is low. Use sp_xml_removedocument to release XML documents.";
    /// 7116: an offset of WRITE before the beginning of a value, or behind its end.
    lob_offset(offset: i64) = 7116, 16, 1, "Offset {offset} is not in the range of available LOB data.";
    /// 7122: a pointer of a type that cannot hold one.
    text_pointer_type() = 7122, 16, 1, "Invalid text, ntext, or image pointer type. Must be binary(16).";
    /// 7123: bytes that point to no row of the column.
    text_pointer_value(pointer: &str) = 7123, 16, 1, "Invalid text, ntext, or image pointer value {pointer}.";
    /// 7124: a part that reaches beyond the end.
    text_part_beyond_end(length: u64) = 7124, 16, 1, "The offset and length specified in the READTEXT statement is greater than the actual data length of {length}.";
    /// 7125: a column that no pointer points to.
    text_pointer_of_another_column() = 7125, 16, 4, "The text, ntext, or image pointer value conflicts with the column name specified.";
    /// 7133
    null_text_pointer(statement: &str, state: u8) = 7133, 16, state, "NULL textptr (text, ntext, or image pointer) passed to {statement} function.";
    /// 7135: a length of WRITE below zero.
    lob_deletion_length(length: i64) = 7135, 16, 1, "Deletion length {length} is not in the range of available text, ntext, or image data.";
    /// 8179
    no_prepared_document(handle: i32) = 8179, 16, 5, "Could not find prepared statement with handle {handle}.";
}
