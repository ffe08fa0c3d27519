// Asks a query server by PostgreSQL's protocol as programs in Go do: `pgx_client PORT`, prints JSON.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func main() {
	told, err := ask(context.Background(), os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(told); err != nil {
		os.Exit(1)
	}
}

func ask(ctx context.Context, port string) (map[string]any, error) {
	address := fmt.Sprintf("postgres://u@127.0.0.1:%s/svc?application_name=pgx_client", port)
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	told := map[string]any{}
	for _, part := range []struct {
		name string
		ask  func(context.Context, *pgx.Conn) (any, error)
	}{
		{"types", types}, {"found", found}, {"prepared", prepared}, {"batch", batch},
		{"copied", copied}, {"cursor", cursor}, {"error", failing}, {"simple", simple},
	} {
		if told[part.name], err = part.ask(ctx, conn); err != nil {
			return nil, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return told, nil
}

// types reads values in binary, as pgx does unasked.
func types(ctx context.Context, conn *pgx.Conn) (any, error) {
	var (
		truth   bool
		small   int16
		whole   int32
		large   int64
		real    float64
		text    string
		raw     []byte
		instant time.Time
		list    []int32
		nothing *string
	)
	err := conn.QueryRow(ctx, "SELECT true, 1::SMALLINT, 2, 3::BIGINT, 0.25::DOUBLE, 'x', "+
		"'\\x01\\xFF'::BLOB, TIMESTAMPTZ '2024-02-29 01:02:03+00', [1, 2], NULL::VARCHAR").
		Scan(&truth, &small, &whole, &large, &real, &text, &raw, &instant, &list, &nothing)
	return []any{truth, small, whole, large, real, text, fmt.Sprintf("%x", raw),
		instant.UTC().Format(time.RFC3339), list, nothing}, err
}

func found(ctx context.Context, conn *pgx.Conn) (any, error) {
	since := time.Unix(1_700_000_001, 0)
	rows, err := conn.Query(ctx,
		"SELECT raw FROM events WHERE timestamp >= $1 AND raw = ANY($2) ORDER BY raw LIMIT $3",
		since, []string{"row 0", "row 1", "row 3"}, 10)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func prepared(ctx context.Context, conn *pgx.Conn) (any, error) {
	about, err := conn.Prepare(ctx, "sum", "SELECT $1::int + $2::int AS n")
	if err != nil {
		return nil, err
	}
	sums := []int32{}
	for n := 0; n < 3; n++ {
		var sum int32
		if err := conn.QueryRow(ctx, "sum", n, 10).Scan(&sum); err != nil {
			return nil, err
		}
		sums = append(sums, sum)
	}
	return []any{about.ParamOIDs, about.Fields[0].Name, sums}, conn.Deallocate(ctx, "sum")
}

// batch sends several statements behind one Sync.
func batch(ctx context.Context, conn *pgx.Conn) (any, error) {
	asked := &pgx.Batch{}
	for n := 0; n < 3; n++ {
		asked.Queue("SELECT $1::int * 2", n)
	}
	answers := conn.SendBatch(ctx, asked)
	defer answers.Close()
	doubled := []int32{}
	for n := 0; n < 3; n++ {
		var one int32
		if err := answers.QueryRow().Scan(&one); err != nil {
			return nil, err
		}
		doubled = append(doubled, one)
	}
	return doubled, nil
}

func copied(ctx context.Context, conn *pgx.Conn) (any, error) {
	var out bytes.Buffer
	tag, err := conn.PgConn().CopyTo(ctx, &out,
		"COPY (SELECT raw FROM events ORDER BY raw LIMIT 2) TO STDOUT (FORMAT csv)")
	return []any{out.String(), tag.String()}, err
}

// cursor reads with a cursor of SQL, within a transaction.
func cursor(ctx context.Context, conn *pgx.Conn) (any, error) {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback(ctx)
	if _, err := tx.Exec(ctx, "DECLARE c CURSOR FOR SELECT i::INT FROM range(5) r(i) ORDER BY i"); err != nil {
		return nil, err
	}
	parts := [][]int32{}
	for len(parts) < 3 {
		rows, err := tx.Query(ctx, "FETCH 2 FROM c")
		if err != nil {
			return nil, err
		}
		part, err := pgx.CollectRows(rows, pgx.RowTo[int32])
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, tx.Commit(ctx)
}

func failing(ctx context.Context, conn *pgx.Conn) (any, error) {
	_, err := conn.Exec(ctx, "SELECT nope FROM events")
	var told *pgconn.PgError
	if !errors.As(err, &told) {
		return nil, fmt.Errorf("no error of the server: %w", err)
	}
	return []any{told.Code, told.Position}, nil
}

func simple(ctx context.Context, conn *pgx.Conn) (any, error) {
	var text string
	err := conn.QueryRow(ctx, "SELECT $1::text || '!'", pgx.QueryExecModeSimpleProtocol, "it's").Scan(&text)
	return text, err
}
