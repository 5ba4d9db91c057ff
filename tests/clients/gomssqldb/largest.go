package main

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"fmt"
	"net/url"
	"os"
	"strconv"
)

// longValue writes a long value as a parameter and reads it back; ../largest.py says what its bytes are.
func longValue(path, count string) error {
	block, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	length, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	value := make([]byte, 0, length+len(block))
	for number := uint64(0); len(value) < length; number++ {
		binary.BigEndian.PutUint64(block, number)
		value = append(value, block...)
	}
	value = value[:length]
	address := url.URL{
		Scheme:   "sqlserver",
		User:     url.UserPassword("sa", os.Getenv("VLFLAB_PASSWORD")),
		Host:     "127.0.0.1:" + os.Getenv("VLFLAB_PORT"),
		RawQuery: "database=largest&encrypt=disable",
	}
	db, err := sql.Open("sqlserver", address.String())
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.Exec("insert v (id, v) values (1, @p1)", value); err != nil {
		return err
	}
	var found []byte
	if err := db.QueryRow("select v from v where id = 1").Scan(&found); err != nil {
		return err
	}
	if !bytes.Equal(found, value) {
		return fmt.Errorf("%d bytes came back, not the %d that were sent", len(found), length)
	}
	return nil
}
