//! SQL Server's virtual log files as arithmetic and bytes. Pure: no I/O, no clock.
