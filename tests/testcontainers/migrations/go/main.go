// golang-migrate on the server on PORT: forth, all back, forth.
package main

import (
	"fmt"
	"log"
	"net/url"
	"os"

	"github.com/golang-migrate/migrate/v4"
	_ "github.com/golang-migrate/migrate/v4/database/sqlserver"
	_ "github.com/golang-migrate/migrate/v4/source/file"
)

func main() {
	server := url.URL{
		Scheme:   "sqlserver",
		User:     url.UserPassword("sa", os.Getenv("PASSWORD")),
		Host:     "127.0.0.1:" + os.Getenv("PORT"),
		RawQuery: "database=master&TrustServerCertificate=true",
	}
	migrations, err := migrate.New("file://scripts", server.String())
	if err != nil {
		log.Fatal(err)
	}
	for _, step := range []func() error{migrations.Up, migrations.Down, migrations.Up} {
		if err := step(); err != nil {
			log.Fatal(err)
		}
	}
	version, isDirty, err := migrations.Version()
	if err != nil || isDirty {
		log.Fatal(version, isDirty, err)
	}
	if err := migrations.Up(); err != migrate.ErrNoChange {
		log.Fatal(err)
	}
	fmt.Printf("migrate: version %d\n", version)
}
