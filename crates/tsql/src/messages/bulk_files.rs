//! The errors of bulk loads: of the rows that clients send, and of the files of rows and their formats that BULK INSERT and OPENROWSET(BULK ...)
//! read.

engine::messages! { pub(crate) fn;
    /// 491: OPENROWSET(BULK ...) without an alias.
    bulk_rowset_without_name() = 491, 16, 1, "A correlation name must be specified for the bulk rowset in the from clause.";
    /// 4802: SINGLE_BLOB and its kin beside anything else.
    single_excludes_others() = 4802, 16, 1, "The SINGLE_LOB, SINGLE_CLOB, and SINGLE_NCLOB options are mutually exclusive with all other options.";
    /// 4804: fewer or other columns than INSERT BULK announces.
    bulk_stream_ended(state: u8) = 4804, 16, state, "While reading current row from host, a premature end-of-message was encountered--an incoming data stream was interrupted when the server expected to see more data. The host program may have terminated. Ensure that you are using a supported client application programming interface (API).";
    /// 4806: SINGLE_CLOB of a file of UTF-16.
    single_clob_is_wide() = 4806, 16, 1, "SINGLE_CLOB requires a double-byte character set (DBCS) (char) input file. The file specified is Unicode.";
    /// 4809: SINGLE_NCLOB of another file.
    single_nclob_is_char() = 4809, 16, 1, "SINGLE_NCLOB requires a UNICODE (widechar) input file. The file specified is not Unicode.";
    /// 4815: a value that is longer than its column is declared.
    bulk_column_length(place: usize) = 4815, 17, 1, "Received an invalid column length from the bcp client for colid {place}.";
    /// 4816: a column that is sent as another type than it is declared.
    bulk_column_type(place: usize, state: u8) = 4816, 16, state, "Invalid column type from bcp client for colid {place}.";
    /// 4817: ORDER of a column that the table does not have.
    bulk_order_unknown(column: &str) = 4817, 16, 1, "Could not bulk load. The sorted column '{column}' is not valid. The ORDER hint is ignored.";
    /// 4818: ORDER of a column twice.
    bulk_order_twice(column: &str) = 4818, 16, 1, "Could not bulk load. The sorted column '{column}' was specified more than once. The ORDER hint is ignored.";
    /// 4819: rows that do not come in the order of ORDER.
    bulk_order_wrong(first: &str, second: &str) = 4819, 16, 1, "Cannot bulk load. The bulk data stream was incorrectly specified as sorted or the data violates a uniqueness constraint imposed by the target table. Sort order incorrect for the following two rows: primary key of first row: {first}, primary key of second row: {second}.";
    /// 4820: a format file of no version that there is.
    format_version(file: &str) = 4820, 16, 1, "Cannot bulk load. Unknown version of format file \"{file}\".";
    /// 4821: no number of fields.
    format_column_count_unread(file: &str) = 4821, 16, 1, "Cannot bulk load. Error reading the number of columns from the format file \"{file}\".";
    /// 4822: another number of fields than it says.
    format_column_count(file: &str) = 4822, 16, 1, "Cannot bulk load. Invalid number of columns in the format file \"{file}\".";
    /// 4823: fields out of order.
    format_column_number(file: &str) = 4823, 16, 1, "Cannot bulk load. Invalid column number in the format file \"{file}\".";
    /// 4824: a type that bcp does not have.
    format_column_type(place: usize, file: &str) = 4824, 16, 1, "Cannot bulk load. Invalid data type for column number {place} in the format file \"{file}\".";
    /// 4825: a prefix that is none of 0, 1, 2, 4 and 8.
    format_column_prefix(place: usize, file: &str) = 4825, 16, 1, "Cannot bulk load. Invalid prefix for column number {place} in the format file \"{file}\".";
    /// 4826: a length that is none.
    format_column_length(place: usize, file: &str) = 4826, 16, 1, "Cannot bulk load. Invalid column length for column number {place} in the format file \"{file}\".";
    /// 4827: no terminator where one is needed.
    format_column_terminator(place: usize, file: &str) = 4827, 16, 1, "Cannot bulk load. Invalid column terminator for column number {place} in the format file \"{file}\".";
    /// 4828: a column that the table does not have, or that gets two fields.
    format_destination(place: usize, file: &str) = 4828, 16, 1, "Cannot bulk load. Invalid destination table column number for source column {place} in the format file \"{file}\".";
    /// 4829: a column without a name.
    format_column_name(place: usize, file: &str) = 4829, 16, 1, "Cannot bulk load. Error reading the destination table column name for source column {place} in the format file \"{file}\".";
    /// 4830: a file of UTF-16 that is said to be of a code page.
    char_file_is_wide() = 4830, 10, 1, "Bulk load: DataFileType was incorrectly specified as char. DataFileType will be assumed to be widechar because the data file has a Unicode signature.";
    /// 4831: the reverse.
    wide_file_is_char() = 4831, 10, 1, "Bulk load: DataFileType was incorrectly specified as widechar. DataFileType will be assumed to be char because the data file does not have a Unicode signature.";
    /// 4832: a file that ends in the midst of a row.
    file_ends_in_row() = 4832, 16, 1, "Bulk load: An unexpected end of file was encountered in the data file.";
    /// 4838: a decimal that has neither precision nor scale.
    bulk_decimal_without_digits() = 4838, 16, 1, "The bulk data source does not support the SQLNUMERIC or SQLDECIMAL data types.";
    /// 4839: a collation that there is not.
    format_collation(place: usize, file: &str) = 4839, 16, 1, "Cannot perform the bulk load. Invalid collation name for source column {place} in the format file \"{file}\".";
    /// 4840: a value that an option cannot have.
    bulk_option_value(option: &str, value: &str) = 4840, 16, 1, "The bulk data source provider string has an invalid {option} property value {value}.";
    /// 4855: an element where none of its name may be. The line is not known: 0.
    format_element(file: &str, element: &str) = 4855, 16, 1, "Line 0 in format file \"{file}\": unexpected element \"{element}\".";
    /// 4858: an attribute that cannot have its value.
    format_attribute_value(file: &str, attribute: &str, value: &str) = 4858, 16, 1, "Line 0 in format file \"{file}\": bad value {value} for attribute \"{attribute}\".";
    /// 4859: an attribute that has to be there.
    format_attribute_missing(file: &str, attribute: &str) = 4859, 16, 1, "Line 0 in format file \"{file}\": required attribute \"{attribute}\" is missing.";
    /// 4863: a value that is longer than its column.
    bulk_truncation(row: u64, field: usize, column: &str) = 4863, 16, 1, "Bulk load data conversion error (truncation) for row {row}, column {field} ({column}).";
    /// 4864: a value that is none of its column's type.
    bulk_mismatch(row: u64, field: usize, column: &str) = 4864, 16, 1, "Bulk load data conversion error (type mismatch or invalid character for the specified codepage) for row {row}, column {field} ({column}).";
    /// 4865: more rows with errors than are passed over.
    bulk_too_many_errors(errors_max: u64) = 4865, 16, 1, "Cannot bulk load because the maximum number of errors ({errors_max}) was exceeded.";
    /// 4866: a field that ends too late or not at all.
    bulk_field_too_long(row: u64, field: usize) = 4866, 16, 1, "The bulk load failed. The column is too long in the data file for row {row}, column {field}. Verify that the field terminator and row terminator are specified correctly.";
    /// 4867: a value out of the range of its column's type.
    bulk_overflow(row: u64, field: usize, column: &str) = 4867, 16, 1, "Bulk load data conversion error (overflow) for row {row}, column {field} ({column}).";
    /// 4869: NULL for a column that takes none.
    bulk_null(row: u64, field: usize, column: &str) = 4869, 16, 1, "The bulk load failed. Unexpected NULL value in data file row {row}, column {field}. The destination column ({column}) is defined as NOT NULL.";
    /// 4872: two fields of one identifier.
    format_id_twice(file: &str, id: &str) = 4872, 16, 1, "Line 0 in format file \"{file}\": duplicate element id \"{id}\".";
    /// 4873: a column of a field that there is not.
    format_id_unknown(file: &str, id: &str) = 4873, 16, 1, "Line 0 in format file \"{file}\": referencing non-existing element id \"{id}\".";
    /// 4874: two columns of one field.
    format_id_used_twice(file: &str, id: &str) = 4874, 16, 1, "Line 0 in format file \"{file}\": duplicate element id reference \"{id}\".";
    /// 4879: a field in quotes that goes on behind them, or a row of another number of fields.
    csv_value_invalid(file: &str, row: u64, field: usize) = 4879, 16, 1, "Bulk load failed due to invalid column value in CSV data file {file} in row {row}, column {field}.";
    /// 4880: FIRSTROW behind LASTROW.
    first_row_after_last() = 4880, 16, 1, "Cannot bulk load. When you use the FIRSTROW and LASTROW parameters, the value for FIRSTROW cannot be greater than the value for LASTROW.";
    /// 4891: the table of a bulk load is another one since it was announced.
    bulk_target_changed() = 4891, 16, 1, "Insert bulk failed due to a schema change of the target table.";
    /// 7330: what stands behind every error that ends the reading of a file.
    bulk_fetch_failed() = 7330, 16, 2, "Cannot fetch a row from OLE DB provider \"BULK\" for linked server \"(null)\".";
    /// 7399: before it.
    bulk_provider_error() = 7399, 16, 1, "The OLE DB provider \"BULK\" for linked server \"(null)\" reported an error. The provider did not give any information about the error.";
}
