/** Recording is refused where CI is set, and these tests record: `bun run test` takes it away, a test run by hand has it. */
delete process.env.CI;
