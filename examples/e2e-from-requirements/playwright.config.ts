export default { testDir: "e2e" };
