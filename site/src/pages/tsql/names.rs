//! Names that SQL Server's documentation has, held against what the server finds.

/// Built-in functions of SQL Server 2022 by their documentation's groups. Those with a syntax of their own, and aggregate, ranking and
/// analytic functions, come with a call that is tried.
pub const CALLED: [(&str, &[(&str, &str)]); 3] = [
    (
        "Aggregate functions",
        &[
            ("APPROX_COUNT_DISTINCT", "select approx_count_distinct(a) from t"),
            ("AVG", "select avg(a), avg(distinct a) from t"),
            ("CHECKSUM_AGG", "select checksum_agg(a) from t"),
            ("COUNT", "select count(*), count(distinct a) from t"),
            ("COUNT_BIG", "select count_big(*) from t"),
            ("GROUPING", "select grouping(a) from t group by rollup (a)"),
            ("GROUPING_ID", "select grouping_id(a) from t group by rollup (a)"),
            (
                "JSON_ARRAYAGG",
                "select json_arrayagg(b order by a null on null) from t",
            ),
            ("JSON_OBJECTAGG", "select json_objectagg(b:a absent on null) from t"),
            ("MAX", "select max(a) from t"),
            ("MIN", "select min(a) from t"),
            ("STDEV", "select stdev(a) from t"),
            ("STDEVP", "select stdevp(a) from t"),
            (
                "STRING_AGG",
                "select string_agg(b, ',') within group (order by a) from t",
            ),
            ("SUM", "select sum(a) from t"),
            ("VAR", "select var(a) from t"),
            ("VARP", "select varp(a) from t"),
        ],
    ),
    (
        "Ranking and analytic functions",
        &[
            ("CUME_DIST", "select cume_dist() over (order by a) from t"),
            ("DENSE_RANK", "select dense_rank() over (order by a) from t"),
            ("FIRST_VALUE", "select first_value(a) over (order by a) from t"),
            ("LAG", "select lag(a, 1, 0) over (order by a) from t"),
            ("LAST_VALUE", "select last_value(a) over (order by a) from t"),
            ("LEAD", "select lead(a) over (order by a) from t"),
            ("NTILE", "select ntile(2) over (order by a) from t"),
            (
                "PERCENTILE_CONT",
                "select percentile_cont(0.5) within group (order by a) over () from t",
            ),
            (
                "PERCENTILE_DISC",
                "select percentile_disc(0.5) within group (order by a) over () from t",
            ),
            ("PERCENT_RANK", "select percent_rank() over (order by a) from t"),
            ("RANK", "select rank() over (order by a) from t"),
            ("ROW_NUMBER", "select row_number() over (order by a) from t"),
        ],
    ),
    (
        "Functions with a syntax of their own",
        &[
            ("CASE", "select case when a = 1 then 1 end from t"),
            ("CAST", "select cast(1 as varchar(9))"),
            ("CHOOSE", "select choose(1, 'a')"),
            ("COALESCE", "select coalesce(null, 1)"),
            ("CONVERT", "select convert(varchar(9), 1)"),
            ("DATEADD", "select dateadd(day, 1, getdate())"),
            ("DATEDIFF", "select datediff(day, getdate(), getdate())"),
            ("DATEDIFF_BIG", "select datediff_big(day, getdate(), getdate())"),
            ("DATENAME", "select datename(month, getdate())"),
            ("DATEPART", "select datepart(year, getdate())"),
            ("DATETRUNC", "select datetrunc(month, getdate())"),
            ("DATE_BUCKET", "select date_bucket(week, 1, getdate())"),
            ("IIF", "select iif(1 = 1, 1, 2)"),
            ("JSON_ARRAY", "select json_array(1, 2)"),
            ("JSON_OBJECT", "select json_object('a':1)"),
            ("NULLIF", "select nullif(1, 2)"),
            ("PARSE", "select parse('1' as int)"),
            ("TEXTPTR", "create table m (x text) select textptr(x) from m"),
            ("TRIM", "select trim(' a '), trim('x' from 'xax')"),
            ("TRIM (BOTH ... FROM ...)", "select trim(both 'x' from 'xax')"),
            ("TRY_CAST", "select try_cast('x' as int)"),
            ("TRY_CONVERT", "select try_convert(int, 'x')"),
            ("TRY_PARSE", "select try_parse('x' as int)"),
            ("UPDATE()", "create trigger x on t after update as if update(a) return"),
        ],
    ),
];

/// Scalar functions that are called by their names alone.
pub const SCALAR: &str = "abs acos app_name applock_mode applock_test ascii asin asymkey_id asymkeyproperty atan atn2 base64_decode \
base64_encode binary_checksum bit_count certencoded certprivatekey cert_id certproperty char charindex checksum col_length \
col_name collationproperty columnproperty columns_updated compress concat concat_ws connectionproperty context_info cos cot \
crypt_gen_random current_request_id current_timezone current_timezone_id current_transaction_id cursor_status database_principal_id \
databasepropertyex datalength datefromparts datetime2fromparts datetimefromparts datetimeoffsetfromparts day db_id db_name decompress \
decryptbykey decryptbypassphrase degrees difference encryptbykey encryptbypassphrase eomonth error_line error_message error_number \
error_procedure error_severity error_state exp file_id file_idex file_name filegroup_id filegroup_name filegroupproperty \
fileproperty floor ceiling format formatmessage fulltextcatalogproperty fulltextserviceproperty get_bit get_filestream_transaction_context \
getansinull getdate getutcdate greatest has_dbaccess has_perms_by_name hashbytes host_id host_name ident_current ident_incr \
ident_seed identity index_col indexkey_property indexproperty is_member is_objectsigned is_rolemember is_srvrolemember isdate isjson isnull \
isnumeric json_modify json_path_exists json_query json_value key_guid key_id key_name least left left_shift len log log10 lower \
loginproperty ltrim min_active_rowversion month nchar newid newsequentialid object_definition object_id object_name object_schema_name \
objectproperty objectpropertyex original_db_name original_login parsename patindex permissions pi power publishingservername \
pwdcompare pwdencrypt quotename radians rand replace replicate reverse right right_shift round rowcount_big rtrim schema_id \
schema_name scope_identity serverproperty session_context sessionproperty set_bit sign signbykey sin smalldatetimefromparts \
soundex space sql_variant_property sqrt square stats_date str string_escape stuff substring suser_id suser_name suser_sid suser_sname \
switchoffset symkeyproperty sysdatetime sysdatetimeoffset sysutcdatetime tan textvalid timefromparts todatetimeoffset translate trigger_nestlevel \
try_cast type_id type_name typeproperty unicode upper user_id user_name verifysignedbycert xact_state year";

/// Functions that are written without parentheses.
pub const BARE: [&str; 5] = [
    "current_timestamp",
    "current_user",
    "session_user",
    "system_user",
    "user",
];

/// Variables that begin with two `@`.
pub const GLOBALS: &str = "connections cpu_busy cursor_rows datefirst dbts error fetch_status identity idle io_busy langid language \
lock_timeout max_connections max_precision microsoftversion nestlevel options pack_received pack_sent packet_errors procid remserver rowcount \
servername servicename spid textsize timeticks total_errors total_read total_write trancount version";

/// Types, as columns have them.
pub const TYPES: &str = "bigint int smallint tinyint bit|decimal(9,2) numeric(9,2) money smallmoney|float real|date time datetime \
datetime2 datetimeoffset smalldatetime|char(9) varchar(9) varchar(max) text|nchar(9) nvarchar(9) nvarchar(max) ntext|binary(9) \
varbinary(9) varbinary(max) image|uniqueidentifier rowversion timestamp sql_variant sysname|xml json vector(3) hierarchyid geometry geography";
