import type { BaseCheckpointSaver } from '@langchain/langgraph';
import type { StoreFailure } from '../core/facts.js';

/** Makes a saver reject with what `toFailure` says about its database's errors, so that a run can tell its client why it ended. */
export function guardSaver<Saver extends BaseCheckpointSaver>(saver: Saver, toFailure: (error: unknown) => StoreFailure): Saver {
  const guarded = async <Result>(work: Promise<Result>): Promise<Result> => {
    try {
      return await work;
    } catch (error) {
      throw toFailure(error);
    }
  };
  const getTuple = saver.getTuple.bind(saver);
  const list = saver.list.bind(saver);
  const put = saver.put.bind(saver);
  const putWrites = saver.putWrites.bind(saver);
  const deleteThread = saver.deleteThread.bind(saver);
  saver.getTuple = (...args) => guarded(getTuple(...args));
  saver.put = (...args) => guarded(put(...args));
  saver.putWrites = (...args) => guarded(putWrites(...args));
  saver.deleteThread = (...args) => guarded(deleteThread(...args));
  saver.list = async function* (...args) {
    try {
      yield* list(...args);
    } catch (error) {
      throw toFailure(error);
    }
  };
  return saver;
}
