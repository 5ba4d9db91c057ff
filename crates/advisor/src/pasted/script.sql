SET NOCOUNT ON;
CREATE TABLE #seven (FileId int, FileSize bigint, StartOffset bigint, FSeqNo bigint, Status int, Parity int, CreateLSN numeric(38, 0));
CREATE TABLE #eight (RecoveryUnitId int, FileId int, FileSize bigint, StartOffset bigint, FSeqNo bigint, Status int, Parity int, CreateLSN numeric(38, 0));
CREATE TABLE #vlf (DatabaseName sysname, FileId int, FileSize bigint, StartOffset bigint, FSeqNo bigint, Status int, Parity int, CreateLSN numeric(38, 0));
DECLARE @name sysname, @text nvarchar(400), @major int;
SET @major = CONVERT(int, PARSENAME(CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion')), 4));
DECLARE names CURSOR LOCAL FAST_FORWARD FOR
    SELECT name FROM sys.databases WHERE state = 0 AND source_database_id IS NULL AND HAS_DBACCESS(name) = 1;
OPEN names;
FETCH NEXT FROM names INTO @name;
WHILE @@FETCH_STATUS = 0
BEGIN
    SET @text = N'DBCC LOGINFO (' + QUOTENAME(@name, '''') + N') WITH NO_INFOMSGS';
    DELETE FROM #seven;
    DELETE FROM #eight;
    IF @major >= 11 INSERT INTO #eight EXEC (@text);
    ELSE INSERT INTO #seven EXEC (@text);
    INSERT INTO #vlf SELECT @name, FileId, FileSize, StartOffset, FSeqNo, Status, Parity, CreateLSN FROM #seven;
    INSERT INTO #vlf SELECT @name, FileId, FileSize, StartOffset, FSeqNo, Status, Parity, CreateLSN FROM #eight;
    FETCH NEXT FROM names INTO @name;
END
CLOSE names;
DEALLOCATE names;
SELECT DatabaseName, FileId, FileSize, StartOffset, FSeqNo, Status, Parity, CreateLSN FROM #vlf ORDER BY DatabaseName, FileId, StartOffset;
DROP TABLE #seven, #eight, #vlf;
