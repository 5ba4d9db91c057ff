//! The Credit database in T-SQL: files in the published shape, alias types, tables with their keys.
//!
//! Data file 1000 MB; log file 400 MB with 15 VLFs, which no single size gives: 768 KB (3) grown to 64 MB (4) and to 400 MB
//! (8), by the rules of SQL Server 2008; growth 10 % and recovery model SIMPLE, as Berry describes the downloaded copy.
//! Column types are those published for the database, tables refer to each other by the keys known of it. Of its other
//! indexes nothing is published: there are none here.

pub(super) const DATABASE: &str = "Credit";
/// Where its files are while it is made, as a script names them.
pub(super) const FOLDER: &str = r"C:\Credit";

/// Creates the database with its files. One batch each.
pub(super) const FILES: [&str; 4] = [
    r"CREATE DATABASE Credit
ON PRIMARY (NAME = N'CreditData', FILENAME = N'C:\Credit\CreditData.mdf', SIZE = 1000MB, FILEGROWTH = 10%)
LOG ON (NAME = N'CreditLog', FILENAME = N'C:\Credit\CreditLog.ldf', SIZE = 768KB, FILEGROWTH = 10%)",
    "ALTER DATABASE Credit MODIFY FILE (NAME = N'CreditLog', SIZE = 64MB)",
    "ALTER DATABASE Credit MODIFY FILE (NAME = N'CreditLog', SIZE = 400MB)",
    "ALTER DATABASE Credit SET RECOVERY SIMPLE",
];

/// Creates the alias types. One batch.
pub(super) const TYPES: &str = "
CREATE TYPE dbo.numeric_id FROM int NOT NULL
CREATE TYPE dbo.normstring FROM varchar(31) NOT NULL
CREATE TYPE dbo.shortstring FROM varchar(15) NOT NULL
CREATE TYPE dbo.letter FROM char(1) NULL
CREATE TYPE dbo.statecode FROM char(2) NOT NULL
CREATE TYPE dbo.countrycode FROM char(2) NOT NULL
CREATE TYPE dbo.mailcode FROM char(10) NOT NULL
CREATE TYPE dbo.phonenumber FROM char(13) NULL
CREATE TYPE dbo.status_code FROM char(2) NOT NULL";

/// A table: its name and the statement that creates it. Tables come after those they refer to.
pub(super) const TABLES: [(&str, &str); 10] = [
    (
        "status",
        "CREATE TABLE dbo.status (status_code status_code CONSTRAINT status_ident PRIMARY KEY CLUSTERED, status_desc normstring)",
    ),
    (
        "region",
        "CREATE TABLE dbo.region (region_no numeric_id IDENTITY CONSTRAINT region_ident PRIMARY KEY CLUSTERED,
region_name shortstring, street shortstring, city shortstring, state_prov statecode, country countrycode,
mail_code mailcode, phone_no phonenumber, region_code status_code)",
    ),
    (
        "category",
        "CREATE TABLE dbo.category (category_no numeric_id IDENTITY CONSTRAINT category_ident PRIMARY KEY CLUSTERED,
category_desc normstring, category_code status_code)",
    ),
    (
        "corporation",
        "CREATE TABLE dbo.corporation (corp_no numeric_id IDENTITY CONSTRAINT corporation_ident PRIMARY KEY CLUSTERED,
corp_name normstring, street shortstring, city shortstring, state_prov statecode, country countrycode,
mail_code mailcode, phone_no phonenumber, expr_dt datetime NOT NULL,
region_no numeric_id CONSTRAINT corporation_region_link REFERENCES dbo.region (region_no), corp_code status_code)",
    ),
    (
        "provider",
        "CREATE TABLE dbo.provider (provider_no numeric_id IDENTITY CONSTRAINT provider_ident PRIMARY KEY CLUSTERED,
provider_name shortstring, street shortstring, city shortstring, state_prov statecode, mail_code mailcode,
country countrycode, phone_no phonenumber, issue_dt datetime NOT NULL, expr_dt datetime NOT NULL,
region_no numeric_id CONSTRAINT provider_region_link REFERENCES dbo.region (region_no), provider_code status_code)",
    ),
    (
        "member",
        "CREATE TABLE dbo.member (member_no numeric_id IDENTITY CONSTRAINT member_ident PRIMARY KEY CLUSTERED,
lastname shortstring, firstname shortstring, middleinitial letter NULL, street shortstring, city shortstring,
state_prov statecode, country countrycode, mail_code mailcode, phone_no phonenumber NULL, photograph image NULL,
issue_dt datetime NOT NULL, expr_dt datetime NOT NULL,
region_no numeric_id CONSTRAINT member_region_link REFERENCES dbo.region (region_no), corp_no numeric_id NULL,
prev_balance money NOT NULL, curr_balance money NOT NULL, member_code status_code)",
    ),
    (
        "member2",
        "CREATE TABLE dbo.member2 (member_no numeric_id IDENTITY CONSTRAINT member2_ident PRIMARY KEY CLUSTERED,
lastname shortstring, firstname shortstring, middleinitial letter NULL, street shortstring, city shortstring,
state_prov statecode, country countrycode, mail_code mailcode, phone_no phonenumber NULL, photograph image NULL,
issue_dt datetime NOT NULL, expr_dt datetime NOT NULL, region_no numeric_id, corp_no numeric_id NULL,
prev_balance money NOT NULL, curr_balance money NOT NULL, member_code status_code)",
    ),
    (
        "statement",
        "CREATE TABLE dbo.statement (statement_no numeric_id IDENTITY CONSTRAINT statement_ident PRIMARY KEY CLUSTERED,
member_no numeric_id CONSTRAINT statement_member_link REFERENCES dbo.member (member_no),
statement_dt datetime NOT NULL, due_dt datetime NOT NULL, statement_amt money NOT NULL, statement_code status_code)",
    ),
    (
        "payment",
        "CREATE TABLE dbo.payment (payment_no numeric_id IDENTITY CONSTRAINT payment_ident PRIMARY KEY CLUSTERED,
member_no numeric_id CONSTRAINT payment_member_link REFERENCES dbo.member (member_no),
payment_dt datetime NOT NULL, payment_amt money NOT NULL, statement_no numeric_id NULL, payment_code status_code)",
    ),
    (
        "charge",
        "CREATE TABLE dbo.charge (charge_no numeric_id IDENTITY CONSTRAINT ChargePK PRIMARY KEY CLUSTERED,
member_no numeric_id CONSTRAINT charge_member_link REFERENCES dbo.member (member_no),
provider_no numeric_id,
category_no numeric_id CONSTRAINT charge_category_link REFERENCES dbo.category (category_no),
charge_dt datetime NOT NULL, charge_amt money NOT NULL, statement_no numeric_id, charge_code status_code)",
    ),
];
