/** Programs of the system that tests drive when they are there: for tests only. */

/** Whether `name` can be run. */
export async function isInstalled(name: string, versionArgs = ["--version"]): Promise<boolean> {
  try {
    const { success } = await new Deno.Command(name, {
      args: versionArgs,
      stdout: "null",
      stderr: "null",
    }).output();
    return success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
