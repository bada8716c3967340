import { execFile } from 'node:child_process';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A real git repository on disk. */
export class Repository {
  /** Its directory. On a server for the parent directory, its last part is its path. */
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Creates an empty one with the branch `main`. */
  static async create(path: string): Promise<Repository> {
    await mkdir(path, { recursive: true });
    const repository = new Repository(path);
    await repository.git('init', '--quiet', '--initial-branch=main');
    return repository;
  }

  async git(...args: string[]): Promise<string> {
    const { stdout } = await run('git', args, {
      cwd: this.path,
      env: {
        PATH: process.env['PATH'],
        HOME: this.path,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_AUTHOR_NAME: 'A',
        GIT_AUTHOR_EMAIL: 'a@example.com',
        GIT_COMMITTER_NAME: 'A',
        GIT_COMMITTER_EMAIL: 'a@example.com',
      },
    });
    return stdout.trim();
  }

  /** Commits files (and links: texts that begin with `-> `) on the current branch. Returns the commit's id. */
  async commit(files: Record<string, string>): Promise<string> {
    for (const [name, content] of Object.entries(files)) {
      const path = join(this.path, name);
      await mkdir(dirname(path), { recursive: true });
      await rm(path, { force: true });
      if (content.startsWith('-> ')) await symlink(content.slice(3), path);
      else await writeFile(path, content);
    }
    await this.git('add', '--all', '--force');
    await this.git('commit', '--quiet', '--allow-empty', '--message', 'a change');
    return this.head();
  }

  head(ref = 'HEAD'): Promise<string> {
    return this.git('rev-parse', ref);
  }
}
