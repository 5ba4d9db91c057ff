// A database of its own for a test, by testcontainers for Go: only the image's name is another.
//
//	go mod init orders
//	go get github.com/testcontainers/testcontainers-go/modules/mssql@v0.44.0 github.com/microsoft/go-mssqldb@v1.10.0
//	docker load -i vlflab-0.1.0-mssql.tar
//	go test -v
package orders

import (
	"context"
	"database/sql"
	"os"
	"strings"
	"testing"

	_ "github.com/microsoft/go-mssqldb"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/mssql"
)

func image() string {
	if named := os.Getenv("VLFLAB_IMAGE"); named != "" {
		return named
	}
	return "vlflab-mssql:0.1.0"
}

func TestOrders(t *testing.T) {
	ctx := context.Background()
	// The module runs the script by the container's sqlcmd.
	script := strings.NewReader("CREATE DATABASE shop\nGO\nUSE shop\nGO\nCREATE TABLE orders (id int IDENTITY PRIMARY KEY, customer nvarchar(50), total decimal(9, 2))")
	server, err := mssql.Run(ctx, image(), mssql.WithAcceptEULA(), mssql.WithInitSQL(script))
	testcontainers.CleanupContainer(t, server)
	if err != nil {
		t.Fatal(err)
	}
	address, err := server.ConnectionString(ctx, "database=shop", "encrypt=true", "TrustServerCertificate=true")
	if err != nil {
		t.Fatal(err)
	}
	database, err := sql.Open("sqlserver", address)
	if err != nil {
		t.Fatal(err)
	}
	defer database.Close()
	for customer, total := range map[string]float64{"Ana": 10, "Bö": 32.5} {
		if _, err := database.ExecContext(ctx, "INSERT orders (customer, total) VALUES (@p1, @p2)", customer, total); err != nil {
			t.Fatal(err)
		}
	}
	var total float64
	if err := database.QueryRowContext(ctx, "SELECT CONVERT(float, SUM(total)) FROM orders").Scan(&total); err != nil {
		t.Fatal(err)
	}
	if total != 42.5 {
		t.Fatalf("orders: %v", total)
	}
	t.Logf("orders: %v", total)
}
