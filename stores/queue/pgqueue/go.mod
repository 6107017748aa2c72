module github.com/assaydb/assay/stores/queue/pgqueue

go 1.26.0

require (
	github.com/assaydb/assay v0.0.0
	github.com/assaydb/assay/engines/postgreskv v0.0.0
	github.com/assaydb/assay/stores/internal/postgres v0.0.0
	github.com/jackc/pgx/v5 v5.12.0
)

require (
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/robfig/cron/v3 v3.0.1 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.42.0 // indirect
)

replace (
	github.com/assaydb/assay => ../../..
	github.com/assaydb/assay/engines/postgreskv => ../../../engines/postgreskv
	github.com/assaydb/assay/stores/internal/postgres => ../../internal/postgres
)
