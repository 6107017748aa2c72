package sqlite_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	"github.com/assaydb/assay/engines/internal/sqlite"
	"github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/engines/sqlitewasmkv"
	"github.com/assaydb/assay/kv"
)

type openTyped = func(ctx context.Context, path string, o *sqlite.Options, options ...kv.Option) (*kv.DB, error)

// typed are the builds' own functions Open.
var typed = map[string]openTyped{"sqlite": sqlitekv.Open, "sqlite-wasm": sqlitewasmkv.Open}

// builds are the engines that are tested; a file with a build constraint adds the one that needs
// cgo.
var builds = []string{"sqlite", "sqlite-wasm"}

// cases hold for every build of SQLite.
var cases = []struct {
	name string
	run  func(t *testing.T, engine string)
}{
	{"commits run under the level of their class", commitsRunUnderTheLevelOfTheirClass},
	{"an ended context interrupts a long statement", anEndedContextInterruptsALongStatement},
	{"a transaction that SQLite rolled back takes no more writes", aTransactionThatSQLiteRolledBackTakesNoMoreWrites},
	{"idle connections are bounded and lent ones are not", idleConnectionsAreBoundedAndLentOnesAreNot},
	{"a database of another program is refused and not touched", aDatabaseOfAnotherProgramIsRefusedAndNotTouched},
	{"a file that is no database is corrupt", aFileThatIsNoDatabaseIsCorrupt},
	{"a file of another engine is called what it is", aFileOfAnotherEngineIsCalledWhatItIs},
	{"files are for this user only and gone after close", filesAreForThisUserOnlyAndGoneAfterClose},
	{"options are in force and read back", optionsAreInForceAndReadBack},
	{"read-only changes nothing", readOnlyChangesNothing},
	{"read-only removes no log of others", readOnlyRemovesNoLogOfOthers},
	{"read-only reads what a writer commits", readOnlyReadsWhatAWriterCommits},
	{"immutable needs no companions and is refused where they hold commits",
		immutableNeedsNoCompanionsAndIsRefusedWhereTheyHoldCommits},
	{"a writer waits for a lock until its time is up", aWriterWaitsForALockUntilItsTimeIsUp},
	{"a reader waits for a commit no longer than its context", aReaderWaitsForACommitNoLongerThanItsContext},
	{"a commit that readers block is busy and leaves nothing", aCommitThatReadersBlockIsBusyAndLeavesNothing},
	{"a table that is not what it was made as is corrupt", aTableThatIsNotWhatItWasMadeAsIsCorrupt},
	{"a table of another program is a store", aTableOfAnotherProgramIsAStore},
	{"a table that no store can be kept in is refused and not touched",
		aTableThatNoStoreCanBeKeptInIsRefusedAndNotTouched},
	{"typed options are those of the URL", typedOptionsAreThoseOfTheURL},
	{"the length of a value is told without reading it", theLengthOfAValueIsToldWithoutReadingIt},
	{"a full disk is not done and the store goes on", aFullDiskIsNotDoneAndTheStoreGoesOn},
	{"a commit without space does not come back", aCommitWithoutSpaceDoesNotComeBack},
	{"a commit without space is gone even where its end stood there",
		aCommitWithoutSpaceIsGoneEvenWhereItsEndStoodThere},
	{"nothing of a commit without space stands behind the next one", nothingOfACommitWithoutSpaceStandsBehindTheNextOne},
	{"a failed sync of a checkpoint is not passed over", aFailedSyncOfACheckpointIsNotPassedOver},
	{"a failed sync of a checkpoint loses nothing of the one before", aFailedSyncOfACheckpointLosesNothingOfTheOneBefore},
	{"a failed sync of compact loses nothing", aFailedSyncOfCompactLosesNothing},
	{"readers come while the log is mended", readersComeWhileTheLogIsMended},
	{"a failed sync loses nothing that others commit", aFailedSyncLosesNothingThatOthersCommit},
	{"a failed sync of the first commit loses nothing else", aFailedSyncOfTheFirstCommitLosesNothingElse},
	{"a failed sync beside others loses nothing of who comes later", aFailedSyncBesideOthersLosesNothingOfWhoComesLater},
	{"a failed sync is told to connections that come later", aFailedSyncIsToldToConnectionsThatComeLater},
	{"a failed sync is told to who only covers", aFailedSyncIsToldToWhoOnlyCovers},
	{"who only reads copies nothing behind a failed sync", whoOnlyReadsCopiesNothingBehindAFailedSync},
	{"a failed sync of compact is mended whatever ended it", aFailedSyncOfCompactIsMendedWhateverEndedIt},
	{"a connection that comes late copies the log from its beginning",
		aConnectionThatComesLateCopiesTheLogFromItsBeginning},
	{"the log stays when the only connection goes", theLogStaysWhenTheOnlyConnectionGoes},
	{"who was to mend a log may go", whoWasToMendALogMayGo},
	{"a log in doubt is mended before another journal takes its place", aLogInDoubtIsMendedBeforeAnotherJournalTakesItsPlace},
	{"a log ends where the frames of its round do", aLogEndsWhereTheFramesOfItsRoundDo},
	{"the name of a new log is synced with its first commit", theNameOfANewLogIsSyncedWithItsFirstCommit},
	{"a log that nobody closed is written once more", aLogThatNobodyClosedIsWrittenOnceMore},
	{"a log that cannot be mended stays for the next", aLogThatCannotBeMendedStaysForTheNext},
	{"a log of others is written once more before a checkpoint", aLogOfOthersIsWrittenOnceMoreBeforeACheckpoint},
	{"who reads alone is told of a dead commit", whoReadsAloneIsToldOfADeadCommit},
	{"a write comes through beside readers that never pause", aWriteComesThroughBesideReadersThatNeverPause},
	{"a backup is a store of its own", aBackupIsAStoreOfItsOwn},
	{"compact shrinks the file beside a reader", compactShrinksTheFileBesideAReader},
	{"a power cut behind compact breaks nothing", aPowerCutBehindCompactBreaksNothing},
	{"where commits cut the file FULL keeps nothing intact", whereCommitsCutTheFileFullKeepsNothingIntact},
	{"a relative path holds after the program changed its folder", aRelativePathHoldsAfterTheProgramChangedItsFolder},
	{"processes that open, put and close lose nothing", processesThatOpenPutAndCloseLoseNothing},
	{"commits of others are counted and not one's own", commitsOfOthersAreCountedAndNotOnesOwn},
	{"commits of others are counted between one's own", commitsOfOthersAreCountedBetweenOnesOwn},
	{"checkpoints are counted", checkpointsAreCounted},
}

func TestStores(t *testing.T) {
	for _, engine := range builds {
		t.Run(engine, func(t *testing.T) {
			if testing.Short() && engine == "sqlite-wasm" {
				t.Skip("it is SQLite in Go, as sqlite is, and passes the suite of all engines: without -short")
			}
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) { c.run(t, engine) })
			}
		})
	}
}

// TestStoresOfOneBuildOpenInTheOthers passes a store around; each build reads what the one before
// it wrote.
func TestStoresOfOneBuildOpenInTheOthers(t *testing.T) {
	for _, journal := range []string{"WAL", "DELETE"} {
		path, before := filepath.Join(t.TempDir(), "db"), ""
		for _, engine := range slices.Concat(builds, builds) {
			db := open(t, engine, path, "?journal_mode="+journal)
			if before != "" && get(t, db, "from "+before) != before {
				t.Errorf("%s: %s does not read what %s wrote", journal, engine, before)
			}
			put(t, db, "from "+engine, engine)
			if err := db.Check(t.Context()); err != nil {
				t.Errorf("%s, %s: check: %v", journal, engine, err)
			}
			closeDB(t, db)
			before = engine
		}
	}
}

// TestProcessesOfAllBuildsShareAStore has each of the processes use another build: their locks are
// the same.
func TestProcessesOfAllBuildsShareAStore(t *testing.T) {
	shareStore(t, builds)
}
